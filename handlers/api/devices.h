// Devices as the API shows them, and whether one may be told to clean itself. Pure; thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "handlers/api/fleet.h"
#include "handlers/api/route.h"
#include "handlers/api/version.h"

namespace reclaim::api {

// The fields of Device that are JSON, out of the others and what its record says besides.
void render(Device& device, const Record& record);

// The form in which a device is written.
struct DeviceForm {
  Microversion version;
  // Set: with waiting_for and last_error, which may hold serials and texts of the host.
  bool reasons = false;
  std::string link;  // all of a self link but the UUID, as JSON without the quote at its end
};
// `base_url` with its mount point, without a slash at its end.
[[nodiscard]] DeviceForm device_form(Microversion version, bool reasons,
                                     const std::string& base_url);
void append_device(std::string& out, const Device& device, const DeviceForm& form);
// `,"damaged":[…]`, of a list that lacks what these hosts stored; empty where there are none, or
// the version has no such member.
[[nodiscard]] std::string damaged_member(const std::vector<Damaged>& damaged,
                                         const DeviceForm& form);
// The body that `GET /v2/devices/ID` answers, or below it `/cleaning` or `/cleaning/steps`.
[[nodiscard]] std::string body_of(Resource resource, const Record& record, const DeviceForm& form);

struct Fault {
  int status = 500;
  std::string detail;
};

// The fault of an order for a device that is only shown.
[[nodiscard]] Fault why_not_of_its_type(const Record& record);
// The fault if nothing of the device's host would hear an order; nothing: its worker lives.
[[nodiscard]] std::optional<Fault> why_no_worker(const Fleet::Found& found, WallMs now,
                                                 std::int64_t heartbeat_max_ms);
// The fault if the hold at which the device waits takes no approval; nothing: it does, or waits at
// one.
[[nodiscard]] std::optional<Fault> why_not_unhold(const Fleet::Found& found, WallMs now,
                                                  std::int64_t heartbeat_max_ms);
// The fault if the device may not be told to clean itself now, as the specification lists it;
// nothing: it may. `steps_named`: with clean steps by hand, which a device in the pool takes too.
// The worker judges again when it gets the order.
[[nodiscard]] std::optional<Fault> why_not_clean(const Fleet::Found& found, WallMs now,
                                                 std::int64_t heartbeat_max_ms, bool steps_named);

}  // namespace reclaim::api
