// Devices as the API shows them, and whether one may be told to clean itself. Pure; thread: any.
#pragma once

#include <cstddef>
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

struct DeviceFilter {
  std::optional<std::string> type, vendor, hostname, status, device_state;
  [[nodiscard]] bool all() const {
    return !type && !vendor && !hostname && !status && !device_state;
  }
};

// The parameters of `GET /v2/devices` at this microversion; the error names the one that is wrong
// and what is accepted.
[[nodiscard]] Result<DeviceFilter> parse_device_filter(const Parameters& parameters,
                                                       Microversion version);

// The fields of Device that are JSON, out of the others.
void render(Device& device);

// The body of `GET /v2/devices`, made in pieces. `base_url` with its mount point, without a slash
// at its end.
class DeviceList final {
 public:
  DeviceList(Devices devices, DeviceFilter filter, Microversion version,
             const std::string& base_url);

  // Goes through some more of the devices; false: those were the last.
  [[nodiscard]] bool go_on();
  [[nodiscard]] std::string take() { return std::move(body_); }

 private:
  Devices devices_;  // those still to come, for the last who holds on to a host's frees them
  const DeviceFilter filter_;
  const Microversion version_;
  const std::string link_;
  std::size_t next_ = 0;  // of the hosts
  std::string body_ = R"({"devices":[)";
};
[[nodiscard]] std::string device_body(const Device& device, Microversion version,
                                      const std::string& base_url);
// Of `GET /v2/devices/ID/cleaning/steps`.
[[nodiscard]] std::string steps_body(const Record& record);

struct Fault {
  int status = 500;
  std::string detail;
};

// Why its host carries out no order now; nothing: it does.
[[nodiscard]] std::optional<Fault> why_no_worker(const Fleet::Found& found, WallMs now,
                                                 std::int64_t heartbeat_max_ms);
// Why the hold at which the device waits takes no approval; nothing: it does, or waits at one.
[[nodiscard]] std::optional<Fault> why_not_unhold(const Fleet::Found& found, WallMs now,
                                                  std::int64_t heartbeat_max_ms);
// Why the device may not be told to clean itself now, as the specification lists it; nothing: it
// may. `steps_named`: with clean steps by hand, which a device in the pool takes too. The worker
// judges again when it gets the order.
[[nodiscard]] std::optional<Fault> why_not_clean(const Fleet::Found& found, WallMs now,
                                                 std::int64_t heartbeat_max_ms, bool steps_named);

}  // namespace reclaim::api
