// What a POST asks of the worker of a device, out of its path and body, judged by what Redis has of
// the device. The worker judges every order again. Pure. Thread: the loop's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "handlers/api/devices.h"
#include "handlers/api/fleet.h"
#include "handlers/api/route.h"
#include "state/device/order.h"

namespace reclaim::api {

// The order, without who issues it and without its code; or the error that answers the request.
[[nodiscard]] std::variant<Order, Fault> order_of(Resource resource, std::string_view body,
                                                  const Fleet::Found& found, WallMs now,
                                                  std::int64_t heartbeat_max_ms);

// The last word of the path: "clean".
[[nodiscard]] std::string_view word_of(Resource resource);

}  // namespace reclaim::api
