// Finds a drive's other claimants: two entries of [nvme] device_spec, or Cyborg's [pci]
// passthrough_whitelist beside one. Decides whose word on `managed` counts. Pure. Thread: any.
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

// True if libvirt binds this device back to its driver: the entry's own word, else that of the
// first passthrough_whitelist entry that matches the device, else yes.
[[nodiscard]] bool managed_of(const DeviceSpec& spec, const std::vector<DeviceSpec>& whitelist,
                              std::uint16_t vendor_id, std::uint16_t product_id,
                              const PciAddress& address);

// Finds a device_spec entry and a passthrough_whitelist entry that say opposite things of
// `managed`: a problem if they name the same devices, a warning if only the host can tell whether
// some device matches both (check_claims()).
void check_managed(const Settings& settings, std::vector<Problem>& problems,
                   std::vector<Problem>& warnings);

// True if the drives of the host have to be looked at before the worker may start.
[[nodiscard]] bool claims_need_drives(const Settings& settings);

// Errc::invalid, "InvalidConfiguration: ...", names device and entries with their places where a
// drive that is there has two claimants: with manage_providers, two device_spec entries of our own
// files or of the service's, or one beside a passthrough_whitelist entry; with or without it, two
// opposite words on `managed`. An entry of our own files beside one of a service's refines it, and
// counts.
[[nodiscard]] Status check_claims(const Settings& settings,
                                  const std::vector<PresentDrive>& drives);

}  // namespace reclaim::config
