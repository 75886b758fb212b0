// `GET /v2/devices`: what is asked for, and the list of all that fit, in the order of hosts and
// addresses. A list in pages, or in another order: device_page.h. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "handlers/api/devices.h"
#include "handlers/api/fleet.h"
#include "handlers/api/route.h"
#include "handlers/api/version.h"

namespace reclaim::api {

struct DeviceFilter {
  std::optional<std::string> type, vendor, hostname, status, device_state;
  [[nodiscard]] bool all() const {
    return !type && !vendor && !hostname && !status && !device_state;
  }
  [[nodiscard]] bool passes(const Device& device) const;
};

enum class DeviceKey : std::uint8_t {
  place,  // host and address: what a list has that asks for no other
  uuid,
  type,
  vendor,
  model,
  hostname,
  status,
  device_state,
  created_at,
  updated_at,
};

struct DeviceQuery {
  DeviceFilter filter;
  std::optional<std::size_t> limit;
  std::string marker;  // empty: from the beginning
  DeviceKey sort_key = DeviceKey::place;
  bool descending = false;
  // The parameters as they were given, for the link to the next page.
  Parameters parameters;

  [[nodiscard]] bool in_pages() const {
    return limit || !marker.empty() || sort_key != DeviceKey::place || descending;
  }
};

// The parameters of `GET /v2/devices` at this microversion; the error names the one that is wrong
// and what is accepted.
[[nodiscard]] Result<DeviceQuery> parse_device_query(const Parameters& parameters,
                                                     Microversion version);

// Its body, made in pieces.
class DeviceList final {
 public:
  DeviceList(Devices devices, DeviceFilter filter, DeviceForm form);

  // Goes through some more of the devices; false: those were the last.
  [[nodiscard]] bool go_on();
  [[nodiscard]] std::string take() { return std::move(body_); }

 private:
  Devices devices_;  // those still to come, for the last who holds on to a host's frees them
  const DeviceFilter filter_;
  const DeviceForm form_;
  std::size_t next_ = 0;  // of the hosts
  std::string body_ = R"({"devices":[)";
};

// So many of them are looked at, or written, in one piece: a tenth of a millisecond, about.
inline constexpr std::size_t kDevicesAPiece = 256;

}  // namespace reclaim::api
