// Who else claims a drive: two entries of [nvme] device_spec, or Cyborg's [pci]
// passthrough_whitelist beside one. And whose word on `managed` counts. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"

namespace reclaim::config {

// An NVMe function of this host.
struct PresentDrive {
  PciAddress address;
  std::uint16_t vendor_id = 0;
  std::uint16_t device_id = 0;
};

// Whether libvirt binds this device back to its driver: the entry's own word, else that of the
// first passthrough_whitelist entry that matches the device, else yes.
[[nodiscard]] bool managed_of(const DeviceSpec& spec, const std::vector<DeviceSpec>& whitelist,
                              std::uint16_t vendor_id, std::uint16_t product_id,
                              const PciAddress& address);

// Where a device_spec entry and a passthrough_whitelist entry say opposite things of `managed`: a
// problem where they name the same devices, a warning where only the host can tell whether some
// device matches both (check_claims()).
void check_managed(const Settings& settings, std::vector<Problem>& problems,
                   std::vector<Problem>& warnings);

// Whether the drives of the host have to be looked at before the worker may start.
[[nodiscard]] bool claims_need_drives(const Settings& settings);

// Errc::invalid, "InvalidConfiguration: ...", names device and entries with their places where a
// drive that is there has two claimants: with manage_providers, two device_spec entries of our own
// files or of the service's, or one beside a passthrough_whitelist entry; with or without it, two
// opposite words on `managed`. An entry of our own files beside one of a service's refines it, and
// counts.
[[nodiscard]] Status check_claims(const Settings& settings,
                                  const std::vector<PresentDrive>& drives);

}  // namespace reclaim::config
