// The metrics of a worker: names, types, labels and what they mean. docs/metrics.md is made from
// them, the worker fills them, and the API lets nothing else through. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace reclaim {

enum class MetricType : std::uint8_t { counter, gauge, histogram };
[[nodiscard]] std::string_view to_string(MetricType type);

struct WorkerMetricRow {
  std::string_view name;
  MetricType type;
  std::string_view labels;  // in their order, separated by ", "; the first is the host's
  std::string_view help;
  std::span<const double> bounds = {};  // a histogram's, ascending

  [[nodiscard]] std::vector<std::string_view> label_names() const;
  // Gives the count of a sample's numbers: a histogram has one more than it has bounds, and a sum.
  [[nodiscard]] std::size_t numbers() const;
};
[[nodiscard]] std::span<const WorkerMetricRow> worker_metric_rows();

// One of each row, in its order.
enum class MetricId : std::uint8_t {
  cleaning_duration,
  steps,
  dirty_offered,
  dirty_allocated,
  surveys,
  survey_at,
  survey_interval,
  kicks,
  request_duration,
  bus_connected,
  bus_messages,
  bus_dead_letters,
  bus_message_age,
  bus_unread,
  loop_lag,
  redis_tls_ends_at,
  drive_used,
  drive_spare,
  drive_media_errors,
  started_at,
};
[[nodiscard]] const WorkerMetricRow& row_of(MetricId metric);

}  // namespace reclaim
