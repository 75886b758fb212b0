#include "listener/notifications.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "handlers/notify/device_notification.h"

namespace reclaim::listener {

RedisOutboxOptions outbox_options(const config::Settings& settings, OutboxSeal seal,
                                  std::function<void()> on_post) {
  RedisOutboxOptions out;
  out.host = settings.host;
  if (settings.notify.driver == NotificationDriver::noop) return out;
  out.posts = [options = settings.notify, seal = std::move(seal), on_post = std::move(on_post)](
                  const Record& record, const JournalEntry& entry) {
    std::vector<Fields> posts;
    for (const DeviceNotification& told : notifications_of(record, entry, options)) {
      posts.push_back(seal.seal({{"event", told.event_type},
                                 {"message", told.message},
                                 {"priority", std::string(to_string(told.level))}}));
    }
    if (!posts.empty()) on_post();
    return posts;
  };
  return out;
}

Notifier::Read outbox_reader(OutboxSeal seal, std::vector<std::string> topics) {
  return [seal = std::move(seal),
          topics = std::move(topics)](const OutboxEntry& entry) -> std::optional<OutgoingMessage> {
    const Fields& fields = entry.fields;
    if (!seal.fits(fields) || !fields.contains("message") || !fields.contains("priority")) {
      return std::nullopt;
    }
    OutgoingMessage out;
    out.id = entry.id;
    for (const std::string& topic : topics) {
      out.routing_keys.push_back(topic + "." + fields.at("priority"));
    }
    out.body = in_envelope(fields.at("message"));
    return out;
  };
}

std::string to_text(const NotifierCounters& counters) {
  return fmt::format(
      "notifications: {} published, {} attempts failed, {} waiting, {} dropped, {} refused, {} "
      "without a listener",
      counters.published, counters.failed, counters.waiting, counters.dropped, counters.refused,
      counters.unrouted);
}

}  // namespace reclaim::listener
