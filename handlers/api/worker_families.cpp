#include "handlers/api/worker_families.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "handlers/worker_metric_rows.h"
#include "state/base/text.h"
#include "state/base/visible.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kLineMax = 4'096;
constexpr std::string_view kCounterEnd = "_total";

// The patterns of labels and values as prometheus-cpp writes them.
const re2::RE2& label_pattern() {
  static const re2::RE2 kPattern(R"re(([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)")re");
  return kPattern;
}
const re2::RE2& value_pattern() {
  // No number that is too large for a double: one ends the scrape of all hosts.
  static const re2::RE2 kPattern(R"re(\} [0-9]{1,40}(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,2})?)re");
  return kPattern;
}

// The row that a sample of this name belongs to: a histogram's has one of three ends.
std::optional<std::size_t> row_of(std::string_view sample) {
  const auto rows = worker_metric_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string_view end = sample;
    if (!end.starts_with(rows[i].name)) continue;
    end.remove_prefix(rows[i].name.size());
    const bool histogram = rows[i].type == MetricType::histogram;
    const bool fits =
        histogram ? end == "_bucket" || end == "_sum" || end == "_count" : end.empty();
    if (fits) return i;
  }
  return std::nullopt;
}

bool has_label(const WorkerMetricRow& row, std::string_view sample, std::string_view label) {
  if (label == "le") return sample.ends_with("_bucket");
  std::string_view rest = row.labels;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, comma) == label) return true;
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return false;
}

// True if the name is followed by labels that the row has, each once and the host's first, and a
// number.
bool is_sample(const WorkerMetricRow& row, std::string_view sample, std::string_view rest,
               std::string_view host) {
  re2::StringPiece text(rest.data(), rest.size());
  std::set<std::string> labels;
  std::string name;
  std::string value;
  do {
    text.remove_prefix(1);  // the bracket, or the comma
    if (!re2::RE2::Consume(&text, label_pattern(), &name, &value)) return false;
    if (labels.empty() && (name != "host" || value != host)) return false;
    if (!has_label(row, sample, name) || !labels.insert(name).second) return false;
  } while (text.starts_with(","));
  return re2::RE2::FullMatch(text, value_pattern());
}

}  // namespace

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : reclaim::visible(text)) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

WorkerFamilies::WorkerFamilies() : samples_(worker_metric_rows().size()) {}

void WorkerFamilies::add(std::string_view host, std::string_view text) {
  const std::string own = label_value(host);
  std::set<std::string_view> seen;  // names with labels
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_line(own, text.substr(0, end), seen);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void WorkerFamilies::add_line(std::string_view host, std::string_view line,
                              std::set<std::string_view>& seen) {
  const std::size_t bracket = line.find('{');
  if (line.size() > kLineMax || bracket == std::string_view::npos || !is_utf8(line)) return;
  const std::string_view sample = line.substr(0, bracket);
  const auto row = row_of(sample);
  if (!row || !is_sample(worker_metric_rows()[*row], sample, line.substr(bracket), host)) return;
  if (!seen.insert(line.substr(0, line.rfind(' '))).second) return;
  samples_[*row].append(line).append("\n");
}

bool WorkerFamilies::write_one(std::string& out, bool openmetrics) {
  if (next_ == samples_.size()) return false;
  const WorkerMetricRow& row = worker_metric_rows()[next_];
  const std::string& samples = samples_[next_];
  next_ += 1;
  if (samples.empty()) return true;
  std::string_view name = row.name;
  // A counter's head is without its end there.
  if (openmetrics && row.type == MetricType::counter) name.remove_suffix(kCounterEnd.size());
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, row.help, to_string(row.type));
  out += samples;
  return true;
}

}  // namespace reclaim::api
