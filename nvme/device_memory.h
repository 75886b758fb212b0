// Whether a drive has memory of its own that a host or a guest can write past its blocks: a
// controller memory buffer (CMB) and a persistent memory region (PMR). No admin command tells; the
// kernel and the controller's registers do. Looks and changes nothing. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "nvme/sysfs.h"

namespace reclaim::nvme {

// Nothing: it could not be looked at.
struct DeviceMemory {
  std::optional<bool> buffer;      // CMB
  std::optional<bool> persistent;  // PMR
};

// The CMB by the attribute that the kernel's driver makes for one (since Linux 4.6); the PMR by
// CAP.PMRS (bit 56 of register 0h), where the kernel lets the registers be mapped: one that was
// built with CONFIG_IO_STRICT_DEVMEM, or is locked down, does not.
[[nodiscard]] DeviceMemory read_device_memory(const std::string& sysfs_root, const SysDrive& drive);

}  // namespace reclaim::nvme
