#include "handlers/metrics/worker_metrics.h"

#include <algorithm>
#include <utility>

#include "handlers/drive_wear.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/taken.h"
#include "state/base/visible.h"

namespace reclaim {
namespace {

// Labels come from notifications and the configuration: their number is bounded.
constexpr std::size_t kValuesMax = 64;

double seconds(std::int64_t ms) {
  constexpr double kMillisecondsPerSecond = 1'000;
  return static_cast<double>(ms) / kMillisecondsPerSecond;
}

std::string method_of(const Record& record) {
  if (record.by_steps) return "steps";
  const auto method = erase_of(record.plan);
  return method ? std::string(nvme::to_string(*method)) : "none";
}

// The result of the cleaning that this transition ends; empty: it ends none.
std::string_view result_of(const JournalEntry& entry) {
  if (entry.trigger == to_string(Trigger::handed_over)) return "handed_over";
  if (ends_well(entry.trigger)) return "released";
  const auto from = parse_stage(entry.from);
  return from && is_busy(*from) && entry.to == to_string(Stage::error) ? "error" : "";
}

// The result of the step that this transition ends, of a stage that runs one; empty: none ended.
std::string_view step_result_of(const JournalEntry& entry) {
  struct Ends {
    Trigger trigger;
    std::string_view result;
  };
  static constexpr Ends kEnds[] = {
      {Trigger::step_done, "done"},      {Trigger::steps_done, "done"},
      {Trigger::steps_verified, "done"}, {Trigger::erased, "done"},
      {Trigger::verified, "done"},       {Trigger::verified_more, "done"},
      {Trigger::verified_unfit, "done"}, {Trigger::step_failed, "failed"},
      {Trigger::erase_failed, "failed"}, {Trigger::verify_failed, "failed"}};
  for (const Ends& ends : kEnds) {
    if (entry.trigger == to_string(ends.trigger)) return ends.result;
  }
  return "";
}

void add_wear(const Record& record, WorkerSamples& samples) {
  const DriveWear wear = wear_of(record.findings);
  constexpr double kPercent = 100;
  const auto set = [&](MetricId metric, const auto& value, double scale) {
    if (value)
      samples[{metric, {to_string(record.address)}}] = {static_cast<double>(*value) / scale};
  };
  set(MetricId::drive_used, wear.used_percent, kPercent);
  set(MetricId::drive_spare, wear.spare_percent, kPercent);
  set(MetricId::drive_media_errors, wear.media_errors, 1);
}

}  // namespace

void WorkerMetrics::count(MetricId metric, std::vector<std::string> labels) {
  counted_.try_emplace({metric, std::move(labels)}, std::vector<double>{0}).first->second[0] += 1;
}

void WorkerMetrics::observe(MetricId metric, std::vector<std::string> labels, std::int64_t ms) {
  const WorkerMetricRow& row = row_of(metric);
  std::vector<double>& numbers =
      counted_.try_emplace({metric, std::move(labels)}, std::vector<double>(row.numbers()))
          .first->second;
  const double value = seconds(std::max<std::int64_t>(ms, 0));
  const auto bound = std::lower_bound(row.bounds.begin(), row.bounds.end(), value);
  numbers[static_cast<std::size_t>(bound - row.bounds.begin())] += 1;
  numbers.back() += value;
}

// The text as a label's value: bounded in number.
std::string WorkerMetrics::bounded(MetricId metric, std::string_view text) {
  std::set<std::string>& values = values_[metric];
  std::string value = visible(text);
  if (values.size() >= kValuesMax && !values.contains(value)) return "other";
  values.insert(value);
  return value;
}

void WorkerMetrics::transition(const Record& record, const JournalEntry& entry) {
  const std::string step = std::exchange(running_[record.address], record.clean_step);
  if (const auto result = step_result_of(entry); !result.empty() && !step.empty()) {
    count(MetricId::steps, {bounded(MetricId::steps, step), std::string(result)});
  }
  if (const auto result = result_of(entry); !result.empty()) {
    observe(MetricId::cleaning_duration, {method_of(record), std::string(result)},
            entry.at.ms - record.cleaning_started_at.ms);
  }
  if (is_offered_dirty(entry.from, entry.trigger)) offered_ += 1;
  if (is_given_dirty(entry.trigger, entry.detail)) allocated_ += 1;
}

void WorkerMetrics::kick(const std::string& reason) {
  count(MetricId::kicks, {bounded(MetricId::kicks, reason)});
}

void WorkerMetrics::request(std::string_view peer, std::string_view outcome, std::int64_t ms) {
  observe(MetricId::request_duration, {std::string(peer), std::string(outcome)}, ms);
}

void WorkerMetrics::message_age(std::int64_t ms) {
  observe(MetricId::bus_message_age, {}, ms);
}

void WorkerMetrics::loop_lag(std::int64_t ms) {
  observe(MetricId::loop_lag, {}, ms);
}

WorkerSamples WorkerMetrics::samples(const WorkerTotals& totals,
                                     const std::vector<Record>& records) const {
  WorkerSamples all = counted_;
  const auto set = [&all](MetricId metric, std::vector<std::string> labels, auto value) {
    all[{metric, std::move(labels)}] = {static_cast<double>(value)};
  };
  set(MetricId::started_at, {}, seconds(started_.ms));
  set(MetricId::surveys, {"ok"}, totals.surveys);
  set(MetricId::surveys, {"failed"}, totals.surveys_failed);
  if (totals.survey_at) set(MetricId::survey_at, {}, seconds(totals.survey_at->ms));
  set(MetricId::survey_interval, {}, seconds(totals.survey_interval_ms));
  // A counter that appears with its first event has never risen, for Prometheus.
  set(MetricId::dirty_offered, {}, offered_ + totals.reserved_in_cleaning);
  set(MetricId::dirty_allocated, {}, allocated_);
  set(MetricId::bus_messages, {}, totals.messages);
  set(MetricId::bus_dead_letters, {}, totals.dead_letters);
  set(MetricId::bus_connected, {}, totals.bus_connected ? 1 : 0);
  for (const BusQueue& queue : totals.bus_queues) {
    set(MetricId::bus_unread, {visible(queue.name)}, queue.unread() ? queue.messages : 0);
  }
  for (const auto& [certificate, at] : {std::pair{"server", totals.redis_server_ends_at},
                                        std::pair{"client", totals.redis_client_ends_at}}) {
    if (at != WallMs{}) set(MetricId::redis_tls_ends_at, {certificate}, seconds(at.ms));
  }
  for (const Record& record : records) add_wear(record, all);
  return all;
}

}  // namespace reclaim
