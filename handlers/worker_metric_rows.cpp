#include "handlers/worker_metric_rows.h"

#include <algorithm>

#include "state/base/enum_names.h"

namespace reclaim {
namespace {

// Upper bounds of the buckets, in seconds.
constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kCleaningBounds[] = {
    1,     2.5,       5,         10,        30,        kMinute, 5 * kMinute, 15 * kMinute,
    kHour, 2 * kHour, 4 * kHour, 8 * kHour, 24 * kHour};
constexpr double kRequestBounds[] = {0.005, 0.025, 0.1, 0.5, 2, 10};
constexpr double kAgeBounds[] = {0.1, 0.5, 2, 10, kMinute, 10 * kMinute, kHour};
constexpr double kLagBounds[] = {0.001, 0.005, 0.025, 0.1, 0.5, 2};

constexpr WorkerMetricRow kRows[] = {
    {"reclaim_cleaning_duration_seconds", MetricType::histogram, "host, method, result",
     "Cleanings that ended, from their start: released, handed_over (to Cyborg's agent) or error.",
     kCleaningBounds},
    {"reclaim_steps_total", MetricType::counter, "host, step, result",
     "Clean steps that ended, the erase and the verification among them: done or failed."},
    {"reclaim_dirty_offered_total", MetricType::counter, "host",
     "Times that somebody else un-reserved a device that was not clean, or that its tenant was "
     "gone and it was not reserved. It is reserved again."},
    {"reclaim_dirty_allocated_total", MetricType::counter, "host",
     "Times that an instance got a device that was not known to be clean, from the pool or right "
     "after another instance."},
    {"reclaim_surveys_total", MetricType::counter, "host, result", "Surveys by result."},
    {"reclaim_survey_timestamp_seconds", MetricType::gauge, "host",
     "When the last survey went through; no sample: none has since the start."},
    {"reclaim_survey_interval_seconds", MetricType::gauge, "host",
     "How often the periodic survey runs ([reclaim] survey_interval_s)."},
    {"reclaim_kicks_total", MetricType::counter, "host, reason",
     "Kicks of this host by reason: the event type of the notification."},
    {"reclaim_request_duration_seconds", MetricType::histogram, "host, peer, outcome",
     "Requests to redis, placement (Keystone's among them) and cyborg: ok, an HTTP status class, "
     "or the kind of the error.",
     kRequestBounds},
    {"reclaim_bus_connected", MetricType::gauge, "host", "1: RabbitMQ is listened to."},
    {"reclaim_bus_messages_total", MetricType::counter, "host", "Messages received from RabbitMQ."},
    {"reclaim_bus_dead_letters_total", MetricType::counter, "host",
     "Messages that could not be read and went to the dead letters."},
    {"reclaim_bus_message_age_seconds", MetricType::histogram, "host",
     "How old a notification is when it becomes a kick, by its sender's clock.", kAgeBounds},
    {"reclaim_bus_unread_messages", MetricType::gauge, "host, queue",
     "Messages in a queue of Nova's notifier that nobody reads; 0: it is empty, or has a reader; "
     "no sample: there is no such queue."},
    {"reclaim_loop_lag_seconds", MetricType::histogram, "host",
     "How late a timer fires, asked twice a second: for so long something held up the loop.",
     kLagBounds},
    {"reclaim_redis_tls_not_after_timestamp_seconds", MetricType::gauge, "host, certificate",
     "When a certificate of the TLS connection to Redis expires: the server's, or the client's, "
     "which is the worker's own; no sample: there is none."},
    {"reclaim_drive_used_ratio", MetricType::gauge, "host, address",
     "Endurance used (SMART percentage used; above 1: beyond its estimate), at its last cleaning."},
    {"reclaim_drive_spare_ratio", MetricType::gauge, "host, address",
     "Spare capacity left (SMART available spare), at its last cleaning."},
    {"reclaim_drive_media_errors", MetricType::gauge, "host, address",
     "Media errors of the drive's life (SMART), at its last cleaning."},
    {"reclaim_start_timestamp_seconds", MetricType::gauge, "host", "When the worker started."},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(MetricId::started_at) + 1);

}  // namespace

std::string_view to_string(MetricType type) {
  return enum_names<MetricType::histogram>("counter", "gauge", "histogram")[type];
}

std::vector<std::string_view> WorkerMetricRow::label_names() const {
  std::vector<std::string_view> names;
  for (std::size_t begin = 0; begin < labels.size();) {
    const std::size_t end = std::min(labels.find(", ", begin), labels.size());
    names.push_back(labels.substr(begin, end - begin));
    begin = end + 2;
  }
  return names;
}

std::size_t WorkerMetricRow::numbers() const {
  return type == MetricType::histogram ? bounds.size() + 2 : 1;
}

std::span<const WorkerMetricRow> worker_metric_rows() {
  return kRows;
}

const WorkerMetricRow& row_of(MetricId metric) {
  return kRows[static_cast<std::size_t>(metric)];
}

}  // namespace reclaim
