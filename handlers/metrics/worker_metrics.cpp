#include "handlers/metrics/worker_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <set>
#include <utility>

#include "handlers/drive_wear.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/taken.h"
#include "state/base/visible.h"

namespace reclaim {
namespace {

// Labels come from notifications and the configuration: their number is bounded.
constexpr std::size_t kValuesMax = 64;

using Buckets = prometheus::Histogram::BucketBoundaries;

Buckets cleaning_buckets() {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  return {1,     2.5,       5,         10,        30,        kMinute, 5 * kMinute, 15 * kMinute,
          kHour, 2 * kHour, 4 * kHour, 8 * kHour, 24 * kHour};
}
Buckets request_buckets() {
  return {0.005, 0.025, 0.1, 0.5, 2, 10};
}
Buckets age_buckets() {
  return {0.1, 0.5, 2, 10, 60, 600, 3600};
}
Buckets lag_buckets() {
  return {0.001, 0.005, 0.025, 0.1, 0.5, 2};
}

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

}  // namespace

class WorkerMetrics::Impl {
 public:
  explicit Impl(const std::string& host) : host_(host) {
    const prometheus::Labels of_host{{"host", visible(host)}};
    for (std::size_t i = 0; i < worker_metric_rows().size(); ++i) {
      const std::string name(worker_metric_rows()[i].name);
      const std::string help(worker_metric_rows()[i].help);
      const auto row = static_cast<MetricId>(i);
      switch (worker_metric_rows()[i].type) {
        case MetricType::counter:
          counters_[row] =
              &prometheus::BuildCounter().Name(name).Help(help).Labels(of_host).Register(registry_);
          break;
        case MetricType::gauge:
          gauges_[row] =
              &prometheus::BuildGauge().Name(name).Help(help).Labels(of_host).Register(registry_);
          break;
        case MetricType::histogram:
          histograms_[row] =
              &prometheus::BuildHistogram().Name(name).Help(help).Labels(of_host).Register(
                  registry_);
          break;
      }
    }
    // A counter that appears with its first event has never risen, for Prometheus.
    for (const MetricId row : {MetricId::dirty_offered, MetricId::dirty_allocated,
                               MetricId::bus_messages, MetricId::bus_dead_letters}) {
      counter(row);
    }
  }

  prometheus::Counter& counter(MetricId row, prometheus::Labels labels = {}) {
    return counters_.at(row)->Add(labels);
  }
  prometheus::Gauge& gauge(MetricId row, prometheus::Labels labels = {}) {
    return gauges_.at(row)->Add(labels);
  }
  void observe(MetricId row, const prometheus::Labels& labels, const Buckets& buckets,
               std::int64_t ms) {
    histograms_.at(row)->Add(labels, buckets).Observe(seconds(ms));
  }
  void raise_to(MetricId row, const prometheus::Labels& labels, std::uint64_t total) {
    prometheus::Counter& one = counter(row, labels);
    one.Increment(static_cast<double>(total) - one.Value());
  }

  // The text as a label's value: bounded in number.
  std::string value_of(MetricId row, std::string_view text) {
    std::set<std::string>& values = values_[row];
    std::string value = visible(text);
    if (values.size() >= kValuesMax && values.count(value) == 0) return "other";
    values.insert(value);
    return value;
  }

  // A time of 0: there is no such certificate, or no longer.
  void set_tls_end(const std::string& certificate, WallMs at) {
    prometheus::Gauge& one = gauge(MetricId::redis_tls_ends_at, {{"certificate", certificate}});
    if (at == WallMs{}) return gauges_.at(MetricId::redis_tls_ends_at)->Remove(&one);
    one.Set(seconds(at.ms));
  }

  // Forgets the wear of all drives: of one that is gone nothing is told any more.
  void forget_wear() {
    for (const auto& [row, gauge] : wear_) gauges_.at(row)->Remove(gauge);
    wear_.clear();
  }
  void set_wear(const Record& record) {
    const DriveWear wear = wear_of(record.findings);
    constexpr double kPercent = 100;
    const auto set = [&](MetricId row, const auto& value, double scale) {
      if (!value) return;
      prometheus::Gauge& one = gauge(row, {{"address", to_string(record.address)}});
      one.Set(static_cast<double>(*value) / scale);
      wear_.emplace_back(row, &one);
    };
    set(MetricId::drive_used, wear.used_percent, kPercent);
    set(MetricId::drive_spare, wear.spare_percent, kPercent);
    set(MetricId::drive_media_errors, wear.media_errors, 1);
  }

  // Sets the gauges of the queues. Of one that is gone nothing is told any more.
  void set_unread(const std::vector<BusQueue>& queues) {
    for (prometheus::Gauge* gauge : unread_) gauges_.at(MetricId::bus_unread)->Remove(gauge);
    unread_.clear();
    unread_.reserve(queues.size());
    for (const BusQueue& queue : queues) {
      prometheus::Gauge& one = gauge(MetricId::bus_unread, {{"queue", visible(queue.name)}});
      one.Set(queue.unread() ? queue.messages : 0);
      unread_.push_back(&one);
    }
  }

  [[nodiscard]] std::string serialized() const {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  std::uint64_t offered = 0;  // while not clean, at rest
  // The step that each device's record names: a transition ends it.
  std::map<PciAddress, std::string> running;

 private:
  std::string host_;
  prometheus::Registry registry_;
  std::map<MetricId, prometheus::Family<prometheus::Counter>*> counters_;
  std::map<MetricId, prometheus::Family<prometheus::Gauge>*> gauges_;
  std::map<MetricId, prometheus::Family<prometheus::Histogram>*> histograms_;
  std::map<MetricId, std::set<std::string>> values_;
  std::vector<std::pair<MetricId, prometheus::Gauge*>> wear_;
  std::vector<prometheus::Gauge*> unread_;
};

WorkerMetrics::WorkerMetrics(const std::string& host, WallMs started)
    : impl_(std::make_unique<Impl>(host)) {
  impl_->gauge(MetricId::started_at).Set(seconds(started.ms));
}
WorkerMetrics::~WorkerMetrics() = default;

void WorkerMetrics::transition(const Record& record, const JournalEntry& entry) {
  std::string& running = impl_->running[record.address];
  const std::string step = std::exchange(running, record.clean_step);
  if (const auto result = step_result_of(entry); !result.empty() && !step.empty()) {
    impl_
        ->counter(MetricId::steps, {{"step", impl_->value_of(MetricId::steps, step)},
                                    {"result", std::string(result)}})
        .Increment();
  }
  if (const auto result = result_of(entry); !result.empty()) {
    impl_->observe(MetricId::cleaning_duration,
                   {{"method", method_of(record)}, {"result", std::string(result)}},
                   cleaning_buckets(), entry.at.ms - record.cleaning_started_at.ms);
  }
  // One that was in the pool was un-reserved by us, and is found not to be clean after all.
  if (entry.trigger == to_string(Trigger::reserved_dropped) &&
      entry.from != to_string(Stage::available)) {
    impl_->offered += 1;
  }
  const bool given = entry.trigger == to_string(Trigger::allocation_seen) ||
                     entry.trigger == to_string(Trigger::passed_on);
  if (given && entry.detail.find(kNotKnownToBeClean) != std::string::npos) {
    impl_->counter(MetricId::dirty_allocated).Increment();
  }
}

void WorkerMetrics::kick(const std::string& reason) {
  impl_->counter(MetricId::kicks, {{"reason", impl_->value_of(MetricId::kicks, reason)}})
      .Increment();
}

void WorkerMetrics::request(std::string_view peer, std::string_view outcome, std::int64_t ms) {
  impl_->observe(MetricId::request_duration,
                 {{"peer", std::string(peer)}, {"outcome", std::string(outcome)}},
                 request_buckets(), ms);
}

void WorkerMetrics::message_age(std::int64_t ms) {
  impl_->observe(MetricId::bus_message_age, {}, age_buckets(), ms);
}

void WorkerMetrics::loop_lag(std::int64_t ms) {
  impl_->observe(MetricId::loop_lag, {}, lag_buckets(), ms);
}

std::string WorkerMetrics::text(const WorkerTotals& totals, const std::vector<Record>& records) {
  impl_->raise_to(MetricId::surveys, {{"result", "ok"}}, totals.surveys);
  impl_->raise_to(MetricId::surveys, {{"result", "failed"}}, totals.surveys_failed);
  if (totals.survey_at) impl_->gauge(MetricId::survey_at).Set(seconds(totals.survey_at->ms));
  impl_->raise_to(MetricId::bus_messages, {}, totals.messages);
  impl_->raise_to(MetricId::bus_dead_letters, {}, totals.dead_letters);
  impl_->gauge(MetricId::bus_connected).Set(totals.bus_connected ? 1 : 0);
  impl_->set_unread(totals.bus_queues);
  impl_->raise_to(MetricId::dirty_offered, {}, impl_->offered + totals.reserved_in_cleaning);
  impl_->gauge(MetricId::survey_interval).Set(seconds(totals.survey_interval_ms));
  impl_->set_tls_end("server", totals.redis_server_ends_at);
  impl_->set_tls_end("client", totals.redis_client_ends_at);
  impl_->forget_wear();
  for (const Record& record : records) impl_->set_wear(record);
  return impl_->serialized();
}

}  // namespace reclaim
