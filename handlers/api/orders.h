// The orders through the API: by which rule each goes, from which microversion on, whether the
// device takes it now, and what it says. The worker judges each again when it gets it. Pure;
// thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "handlers/api/devices.h"
#include "handlers/api/fleet.h"
#include "handlers/api/route.h"
#include "handlers/api/version.h"
#include "state/device/order.h"

namespace reclaim::api {

struct OrderCall {
  Resource resource;
  OrderKind kind;
  std::string_view rule;
  Microversion since;
  int accepted;  // the status: 202, or as Cyborg answers its own
};

// The texts for who approves no hold: the token is not its user's own, or nothing tells who calls.
inline constexpr std::string_view kOwnToken =
    "use a token of your own, alone, neither delegated nor a service's";
inline constexpr std::string_view kNobodyKnown =
    "an approval is a person's, and with [api] auth = none nobody is known: approve it with "
    "`reclaim device unhold`";

// Null: the resource orders nothing.
[[nodiscard]] const OrderCall* order_call(Resource resource);

// True if the body of a call that orders `clean` names clean steps, however badly.
[[nodiscard]] bool names_steps(std::string_view body);

// True if it is a `clean` of a device in error, held or in maintenance.
[[nodiscard]] bool overrides_an_operator(const Order& order, const Record& record);

// True if it accepts something, or may undo what an operator ordered.
[[nodiscard]] bool is_an_operators(const Order& order, const Record& record);

// Puts into the order what the call's body says; a fault: it says what it may not, also of clean
// steps that the device does not have.
[[nodiscard]] std::optional<Fault> read_body(const OrderCall& call, std::string_view body,
                                             const Record& record, Order& order);

// The names of the clean steps that the order names, for the audit.
[[nodiscard]] std::string names_of_steps(const Order& order);

// The fault if the device does not take it now; nothing: it does.
[[nodiscard]] std::optional<Fault> why_not_order(const OrderCall& call, const Order& order,
                                                 const Fleet::Found& found, WallMs now,
                                                 std::int64_t heartbeat_max_ms);

// Names the drive of an order that accepts one; a fault: nothing tells which it is.
[[nodiscard]] std::optional<Fault> name_drive(const Record& record, Order& order);

}  // namespace reclaim::api
