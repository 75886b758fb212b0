#include "tests/bench/fleet/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "state/base/json.h"

namespace reclaim::fleet {
namespace {

constexpr std::size_t kMostFrequent = 12;

double grown(std::uint64_t before, std::uint64_t after) {
  return static_cast<double>(after) - static_cast<double>(before);
}

}  // namespace

Rates between(const Moment& before, const Moment& after) {
  Rates rates;
  rates.seconds = static_cast<double>(after.at_ms - before.at_ms) / 1'000;
  rates.placement = grown(before.asked.placement(), after.asked.placement());
  rates.keystone = grown(before.asked.keystone(), after.asked.keystone());
  for (std::size_t i = before.asked.by_second.size(); i < after.asked.by_second.size(); ++i) {
    rates.placement_peak =
        std::max(rates.placement_peak, static_cast<double>(after.asked.by_second[i]));
  }
  rates.redis = grown(before.redis.total, after.redis.total);
  rates.redis_sent = grown(before.redis.sent_bytes, after.redis.sent_bytes);
  rates.received = grown(before.rabbit.received, after.rabbit.received);
  rates.delivered = grown(before.rabbit.delivered, after.rabbit.delivered);
  rates.redelivered = grown(before.rabbit.redelivered, after.rabbit.redelivered);
  rates.workers_cpu_s = after.workers_cpu_s - before.workers_cpu_s;
  rates.redis_cpu_s = after.redis.cpu_s - before.redis.cpu_s;
  rates.rabbit_cpu_s = after.rabbit.cpu_s - before.rabbit.cpu_s;
  return rates;
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = percent / 100 * static_cast<double>(values.size());
  const auto index = static_cast<std::size_t>(std::max(1.0, std::ceil(rank)));
  return values[std::min(index, values.size()) - 1];
}

void Figures::add(const std::string& name, double value, int decimals) {
  const double unit = std::pow(10, decimals);
  fields_.emplace_back(name, std::round(value * unit) / unit);
}
void Figures::add(const std::string& name, std::int64_t value) {
  fields_.emplace_back(name, value);
}
void Figures::add(const std::string& name, const std::string& json_object) {
  fields_.emplace_back(name, cli::RawJson{json_object});
}

std::string most_frequent(const std::map<std::string, std::uint64_t>& before,
                          const std::map<std::string, std::uint64_t>& after) {
  std::vector<std::pair<std::uint64_t, std::string>> grown;
  for (const auto& [name, count] : after) {
    const auto earlier = before.find(name);
    const std::uint64_t more = count - (earlier == before.end() ? 0 : earlier->second);
    if (more > 0) grown.emplace_back(more, name);
  }
  std::sort(grown.rbegin(), grown.rend());
  std::string out;
  for (std::size_t i = 0; i < std::min(grown.size(), kMostFrequent); ++i) {
    out += out.empty() ? "{" : ", ";
    json::append_string(grown[i].second, out);
    out += fmt::format(": {}", grown[i].first);
  }
  return out.empty() ? "{}" : out + "}";
}

}  // namespace reclaim::fleet
