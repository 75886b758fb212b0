// Tells whether a drive has memory of its own that a host or a guest can write past its blocks: a
// controller memory buffer (CMB) and a persistent memory region (PMR). No admin command tells; the
// kernel and the controller's registers do. Looks and changes nothing. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "nvme/host/sysfs.h"

namespace reclaim::nvme {

// A drive's memory past its blocks; nothing: it could not be told.
struct DeviceMemory {
  std::optional<bool> buffer;      // CMB
  std::optional<bool> persistent;  // PMR
};

// Reads CAP.CMBS, CMBSZ and CAP.PMRS, where the kernel lets the registers be mapped: one with
// CONFIG_IO_STRICT_DEVMEM, or locked down, does not while the driver is bound. There the BARs tell:
// without one beside the registers' own there is neither. The attribute that the kernel's driver
// makes for a CMB shows one, but its absence nothing: Linux 6.1.9 to 6.2 never make it.
[[nodiscard]] DeviceMemory read_device_memory(const std::string& sysfs_root, const SysDrive& drive);

}  // namespace reclaim::nvme
