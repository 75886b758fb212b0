// An order as the command line issues it: with who issues it and, where this machine has a key that
// the worker believes, its code.
#pragma once

#include <string>

#include "cli/session.h"
#include "state/device/order.h"
#include "state/device/record.h"

namespace reclaim::cli {

// The words of an order beside its kind, host and device.
struct OrderSaid {
  FoundDrive accepts;   // `enrol`: which drive
  std::string reason;   // `disown`, `retire` and `pause`
  std::string purpose;  // `retire`
  std::string steps;    // `clean`: those that are run first (encode_plan)
  std::string hold;     // `unhold`: which one (hold_id)
  WallMs until = {};    // `pause`
};

// Errc::refused: it has to be authenticated, and no key for it can be read here.
[[nodiscard]] Result<Order> new_order(Session& session, const std::string& host, OrderKind kind,
                                      const std::string& address, const OrderSaid& said);

// The steps that a file names for a device, checked with what its worker offers; encoded as an
// order has them. The error names the file.
[[nodiscard]] Result<std::string> steps_of_file(const std::string& path, const Record& record);

// "accepting drive serial X, model Y in 0000:c1:00.0", or what binds the order without a serial.
[[nodiscard]] std::string accepting_text(const FoundDrive& drive, const PciAddress& address);

}  // namespace reclaim::cli
