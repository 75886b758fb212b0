#include "tests/bench/fleet/load.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "state/base/text.h"

namespace reclaim::fleet {
namespace {

struct Stat {
  pid_t group = 0;
  double cpu_s = 0;
};

// /proc/PID/stat, behind the name, which may hold anything.
std::optional<Stat> stat_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream words(line.substr(line.rfind(')') + 2));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  constexpr std::size_t kGroup = 2;
  constexpr std::size_t kUser = 11;
  constexpr std::size_t kSystem = 12;
  if (fields.size() <= kSystem) return std::nullopt;
  const double ticks = std::stod(fields[kUser]) + std::stod(fields[kSystem]);
  return Stat{static_cast<pid_t>(std::stol(fields[kGroup])),
              ticks / static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

double cpu_of_group_s(pid_t group) {
  double sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!parse_number<pid_t>(name)) continue;
    if (const auto stat = stat_of(name); stat && stat->group == group) sum += stat->cpu_s;
  }
  return sum;
}

// The sum of the numbers behind each "name => ".
std::uint64_t sum_of(const std::string& text, const std::string& name) {
  std::uint64_t sum = 0;
  const std::string word = name + " => ";
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    at += word.size();
    sum += std::strtoull(text.c_str() + at, nullptr, 10);
  }
  return sum;
}

// The number behind "name", in a line of INFO.
double number_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return 0;
  return std::strtod(std::string(line.substr(at + name.size())).c_str(), nullptr);
}

}  // namespace

RedisLoad redis_load(const test::RedisServer& redis) {
  RedisLoad load;
  std::istringstream lines(redis.cli({"INFO", "all"}));
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kStat = "cmdstat_";
    if (line.starts_with(kStat)) {
      const std::string name = line.substr(kStat.size(), line.find(':') - kStat.size());
      load.commands[name] = static_cast<std::uint64_t>(number_after(line, "calls="));
    }
    if (line.starts_with("used_memory:")) {
      load.used_bytes = static_cast<std::uint64_t>(number_after(line, ":"));
    }
    if (line.starts_with("total_net_output_bytes:")) {
      load.sent_bytes = static_cast<std::uint64_t>(number_after(line, ":"));
    }
    if (line.starts_with("connected_clients:")) {
      load.connections = static_cast<std::uint64_t>(number_after(line, ":"));
    }
    if (line.starts_with("total_commands_processed:")) {
      load.total = static_cast<std::uint64_t>(number_after(line, ":"));
    }
    if (line.starts_with("used_cpu_sys:") || line.starts_with("used_cpu_user:")) {
      load.cpu_s += number_after(line, ":");
    }
  }
  return load;
}

RabbitLoad rabbit_load(const std::vector<const testing::RabbitMqBroker*>& nodes) {
  RabbitLoad load;
  for (const testing::RabbitMqBroker* node : nodes) {
    load.cpu_s += cpu_of_group_s(node->pid());
    const std::string text = node->ctl("eval 'rabbit_global_counters:overview().'");
    load.received += sum_of(text, "messages_received_total");
    load.delivered += sum_of(text, "messages_delivered_total");
    load.redelivered += sum_of(text, "messages_redelivered_total");
    load.acknowledged += sum_of(text, "messages_acknowledged_total");
  }
  return load;
}

double cpu_s(pid_t pid) {
  const auto stat = stat_of(std::to_string(pid));
  return stat ? stat->cpu_s : 0;
}

std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace reclaim::fleet
