// Cyborg's answers, read from JSON (cyborg/api/controllers/v2). Every error names the member that
// is wrong. An ARQ or a device that cannot be read makes the whole list fail: a binding left out is
// a device that looks free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/cyborg/accelerators.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/device/arq.h"

namespace reclaim::placement {

struct CyborgLimits {
  std::size_t body_bytes = 0;
  std::size_t rows = 0;
};

// GET /v2/accelerator_requests: those of the host, and those that hold a device and name no host
// (an unbinding that fails half way wipes it).
[[nodiscard]] Result<std::vector<Arq>> parse_arqs(std::string_view body, const HostNames& names,
                                                  WallMs now, CyborgLimits limits);

struct DeviceAnswer {
  std::string uuid;
  std::string type;
  std::string hostname;
  std::string status;                 // empty below microversion 2.3
  std::optional<PciAddress> address;  // where std_board_info has one
};

// GET /v2/devices?hostname=…: those of `host`. `with_status`: the version spoken has it.
[[nodiscard]] Result<std::vector<DeviceAnswer>> parse_devices(std::string_view body,
                                                              std::string_view host,
                                                              bool with_status,
                                                              CyborgLimits limits);

struct DeployableAnswer {
  std::string provider;        // rp_uuid; empty: not known to Placement yet
  std::string device_uuid;     // where Cyborg says it; today's has device_id alone
  std::int64_t device_id = 0;  // of its database, which no other answer names
  PciAddress address;          // of its name, <host>_<address>
};

// GET /v2/deployables: those whose name is <host>_<a PCI address>.
[[nodiscard]] Result<std::vector<DeployableAnswer>> parse_deployables(std::string_view body,
                                                                      std::string_view host,
                                                                      CyborgLimits limits);

// One entry for each deployable, with what its device says, and one for each device without any.
//
// Today's Cyborg does not tell which of a host's devices a deployable belongs to, unless by an
// address in std_board_info. Where nothing connects several of them, each of these deployables
// has the worst status of these devices: one that is maintaining makes all of them so. In doubt,
// a device stays reserved.
[[nodiscard]] std::vector<CyborgDevice> connect_devices(
    const std::vector<DeviceAnswer>& devices, const std::vector<DeployableAnswer>& deployables);

// The address in a std_board_info, which is a JSON object's text or Python's way of writing one,
// or whatever else a driver puts there.
[[nodiscard]] std::optional<PciAddress> board_address(std::string_view std_board_info);

}  // namespace reclaim::placement
