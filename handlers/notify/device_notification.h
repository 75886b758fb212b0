// Makes what the bus is told of a device's life: an entry of the journal becomes a notification,
// several, or none, with a payload that docs/notifications.schema.json describes. Notifications
// decide nothing. Pure; thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "handlers/notify/options.h"
#include "state/device/record.h"
#include "state/device/store.h"

namespace reclaim {

struct DeviceNotification {
  std::string id;          // message_id: the same each time the same entry is told
  std::string event_type;  // device.clean.start and so on
  NotificationLevel level = NotificationLevel::info;
  std::string message;  // oslo.messaging's message as JSON, without its envelope
};

// `record` is as the entry leaves it. None below `options.level`, and none of a device that is only
// shown. Texts that came from outside are bounded and printable.
[[nodiscard]] std::vector<DeviceNotification> notifications_of(const Record& record,
                                                               const JournalEntry& entry,
                                                               const NotifyOptions& options);

// "info" or "error": what the routing key ends with.
[[nodiscard]] std::string_view to_string(NotificationLevel level);

// The body of the AMQP message: `message` in oslo.messaging's envelope of version 2.0.
[[nodiscard]] std::string in_envelope(std::string_view message);

}  // namespace reclaim
