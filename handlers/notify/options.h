// The options of what is told of devices on the bus, and from which priority on. Filled by config/
// from [notifications].
#pragma once

#include <cstdint>

namespace reclaim {

// oslo.messaging's names.
enum class NotificationDriver : std::uint8_t {
  noop,         // nothing is sent, and nothing is kept to be sent
  messagingv2,  // in an envelope of version 2.0
};

// The lowest priority that is sent.
enum class NotificationLevel : std::uint8_t { info, error };

struct NotifyOptions {
  NotificationDriver driver = NotificationDriver::noop;
  NotificationLevel level = NotificationLevel::info;
};

}  // namespace reclaim
