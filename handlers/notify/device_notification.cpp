#include "handlers/notify/device_notification.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "state/base/fields.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/device/machine.h"

namespace reclaim {
namespace {

constexpr std::size_t kWordBytesMax = 255;
constexpr std::size_t kTextBytesMax = 1'024;  // of `detail`: errors, which may be long
constexpr std::size_t kTagsMax = 64;

struct EventName {
  std::string_view type;
  NotificationLevel level;
};

constexpr EventName kCleanStart{"device.clean.start", NotificationLevel::info};
constexpr EventName kCleanEnd{"device.clean.end", NotificationLevel::info};
constexpr EventName kCleanError{"device.clean.error", NotificationLevel::error};
constexpr EventName kReleaseEnd{"device.release.end", NotificationLevel::info};
constexpr EventName kQuarantine{"device.quarantine", NotificationLevel::error};
constexpr EventName kOfferedDirty{"device.offered_dirty", NotificationLevel::error};
constexpr EventName kAllocatedDirty{"device.allocated_dirty", NotificationLevel::error};
constexpr EventName kMaintenanceSet{"device.maintenance.set", NotificationLevel::info};

// A word that is not known is null. (UTF-8 is JsonWriter's business.)
std::optional<std::string> word(std::string_view text, std::size_t bytes_max = kWordBytesMax) {
  if (text.empty()) return std::nullopt;
  return printable_excerpt(text, bytes_max);
}

std::optional<std::string> time(WallMs at) {
  return word(field::time_text(at));
}

// docs/notifications.schema.json.
struct Payload {
  std::optional<std::string> host;
  std::optional<std::string> address;
  std::optional<std::string> device_uuid;
  std::optional<std::string> type;
  std::optional<std::string> flow;
  std::optional<std::string> vendor_id;
  std::optional<std::string> product_id;
  std::optional<std::string> model;
  std::optional<std::string> serial;
  std::optional<std::string> provider_uuid;
  std::optional<std::string> provider_name;
  std::optional<std::string> instance_uuid;
  std::vector<std::string> tags;
  std::string state_before;
  std::string state;
  std::string stage_before;
  std::string stage;
  std::optional<std::string> why;
  std::optional<std::string> detail;
  std::optional<std::string> clean_step;
  bool maintenance = false;
  std::optional<std::string> certificate_id;
  std::optional<std::string> started_at;
  std::optional<std::string> verified_at;
  std::string at;
  friend bool operator==(const Payload&, const Payload&) = default;
};

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Payload> auto& payload) {
  visit("host", payload.host);
  visit("address", payload.address);
  visit("device_uuid", payload.device_uuid);
  visit("type", payload.type);
  visit("flow", payload.flow);
  visit("vendor_id", payload.vendor_id);
  visit("product_id", payload.product_id);
  visit("model", payload.model);
  visit("serial", payload.serial);
  visit("provider_uuid", payload.provider_uuid);
  visit("provider_name", payload.provider_name);
  visit("instance_uuid", payload.instance_uuid);
  visit("tags", payload.tags);
  visit("state_before", payload.state_before);
  visit("state", payload.state);
  visit("stage_before", payload.stage_before);
  visit("stage", payload.stage);
  visit("why", payload.why);
  visit("detail", payload.detail);
  visit("clean_step", payload.clean_step);
  visit("maintenance", payload.maintenance);
  visit("certificate_id", payload.certificate_id);
  visit("started_at", payload.started_at);
  visit("verified_at", payload.verified_at);
  visit("at", payload.at);
}

struct VersionedPayload {
  std::string name = "DeviceNotificationPayload";
  std::string name_space = "reclaim";
  std::string version = "1.0";
  Payload data;
  friend bool operator==(const VersionedPayload&, const VersionedPayload&) = default;
};

template <typename Visit>
void visit_fields(Visit& visit, field::Of<VersionedPayload> auto& payload) {
  visit("reclaim_object.name", payload.name);
  visit("reclaim_object.namespace", payload.name_space);
  visit("reclaim_object.version", payload.version);
  visit("reclaim_object.data", payload.data);
}

struct OsloNotification {
  std::string message_id;
  std::string unique_id;  // by which oslo.messaging drops what comes again
  std::string publisher_id;
  std::string event_type;
  std::string priority;
  std::string timestamp;
  VersionedPayload payload;
};

template <typename Visit>
void visit_fields(Visit& visit, field::Of<OsloNotification> auto& message) {
  visit("message_id", message.message_id);
  visit("_unique_id", message.unique_id);
  visit("publisher_id", message.publisher_id);
  visit("event_type", message.event_type);
  visit("priority", message.priority);
  visit("timestamp", message.timestamp);
  visit("payload", message.payload);
}

// The entry's stages, which are known where the worker wrote it.
struct Move {
  Stage from;
  Stage to;
  std::string_view trigger;
  std::string_view detail;
};

// From the second look at Placement on, the cleaning works at the device.
bool cleaning_begins(const Move& move) {
  return move.from == Stage::rechecking &&
         (move.to == Stage::preparing || move.to == Stage::erasing);
}

std::vector<EventName> events_of(const Move& move) {
  std::vector<EventName> events;
  if (cleaning_begins(move)) events.push_back(kCleanStart);
  const bool kept = move.trigger == to_string(Trigger::verified_unfit);
  if (kept || (move.to == Stage::restoring && move.from != Stage::restoring)) {
    events.push_back(kCleanEnd);
  }
  if (move.to == Stage::error && move.from != Stage::error) {
    if (is_busy(move.from) && !kept) events.push_back(kCleanError);
    events.push_back(kQuarantine);
  }
  if (ends_well(move.trigger)) events.push_back(kReleaseEnd);
  if (is_offered_dirty(to_string(move.from), move.trigger)) events.push_back(kOfferedDirty);
  if (is_given_dirty(move.trigger, move.detail)) events.push_back(kAllocatedDirty);
  if (move.trigger == "maintenance_on" || move.trigger == "maintenance_off") {
    events.push_back(kMaintenanceSet);
  }
  return events;
}

// The instance that had the device. At a release the record has forgotten the tenancy; the
// certificate that it owes has not.
std::string instance_of(const Record& record, const EventName& event) {
  if (event.type != kReleaseEnd.type) return record.instance;
  const Result<Certificate> certificate = decode_certificate(record.certificate_pending);
  return certificate.ok() ? certificate->instance : std::string();
}

Payload payload_of(const Record& record, const JournalEntry& entry, const Move& move,
                   const EventName& event) {
  const bool released = event.type == kReleaseEnd.type;
  Payload out;
  out.host = word(record.host);
  out.address = word(entry.address);
  out.device_uuid = word(record.uuid);
  out.type = word(record.type);
  out.flow = word(to_string(record.flow));
  out.vendor_id = word(record.vendor_id);
  out.product_id = word(record.product_id);
  out.model = word(record.model);
  out.serial = word(record.serial);
  out.provider_uuid = word(record.provider);
  out.provider_name = word(record.provider_name);
  out.instance_uuid = word(instance_of(record, event));
  for (const std::string& tag : record.tags) {
    if (out.tags.size() < kTagsMax) out.tags.push_back(printable_excerpt(tag, kWordBytesMax));
  }
  out.state_before = to_string(device_state(move.from));
  out.state = to_string(device_state(move.to));
  out.stage_before = to_string(move.from);
  out.stage = to_string(move.to);
  out.why = word(entry.why);
  out.detail = word(entry.detail, kTextBytesMax);
  out.clean_step = word(record.clean_step);
  out.maintenance = record.maintenance;
  if (released) out.certificate_id = word(record.certificate_id);
  out.started_at = time(record.cleaning_started_at);
  if (released || event.type == kCleanEnd.type) out.verified_at = time(record.verified_at);
  out.at = to_iso8601(entry.at);
  return out;
}

// "2026-11-20 21:22:44.123000", as oslo.messaging's notifier writes it.
std::string oslo_time(WallMs at) {
  std::string text = to_iso8601(at);
  std::replace(text.begin(), text.end(), 'T', ' ');
  std::replace(text.begin(), text.end(), 'Z', '0');
  return text + "00";
}

}  // namespace

std::string_view to_string(NotificationLevel level) {
  return level == NotificationLevel::info ? "info" : "error";
}

std::vector<DeviceNotification> notifications_of(const Record& record, const JournalEntry& entry,
                                                 const NotifyOptions& options) {
  std::vector<DeviceNotification> out;
  if (options.driver == NotificationDriver::noop || !record.cleanable()) return out;
  const Result<Stage> from = parse_stage(entry.from);
  const Result<Stage> to = parse_stage(entry.to);
  if (!from.ok() || !to.ok()) return out;
  const Move move{*from, *to, entry.trigger, entry.detail};
  for (const EventName& event : events_of(move)) {
    if (event.level < options.level) continue;
    OsloNotification message;
    // The message's id is made without the journal's id, which Redis gives: an entry that is
    // written a second time because its answer was lost is told by the same name.
    message.message_id = message_uuid(fmt::format("notification {} {} {} {}", record.host,
                                                  entry.address, entry.at.ms, event.type));
    message.unique_id = message.message_id;
    std::erase(message.unique_id, '-');
    message.publisher_id = "reclaim:" + record.host;
    message.event_type = event.type;
    message.priority = event.level == NotificationLevel::info ? "INFO" : "ERROR";
    message.timestamp = oslo_time(entry.at);
    message.payload.data = payload_of(record, entry, move, event);
    out.push_back(
        {message.message_id, std::string(event.type), event.level, field::to_json_text(message)});
  }
  return out;
}

std::string in_envelope(std::string_view message) {
  std::string body = R"({"oslo.version": "2.0", "oslo.message": )";
  json::append_string(message, body);
  return body + "}";
}

}  // namespace reclaim
