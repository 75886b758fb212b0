// The udev rules that keep the host off the drives of [nvme] device_spec: written for a
// configuration, and read back to see which drives an installed file lists. Pure; thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/device_spec/device_spec.h"
#include "state/base/pci_address.h"

namespace reclaim::config {

// A drive of this host.
struct HostDrive {
  PciAddress address;
  std::uint16_t vendor_id = 0;
  std::uint16_t device_id = 0;
};

// 59-reclaim.rules as it ships, with a line for each entry in the place of its examples: by ids
// where the entry has no address, else by the addresses of the host's drives that it matches. What
// it matches on another host, or in a slot that is empty, needs the file to be written again.
[[nodiscard]] std::string udev_rules(const std::vector<DeviceSpec>& specs,
                                     const std::vector<HostDrive>& drives);

// The lines of such a file that list drives.
struct UdevListing {
  struct Line {
    std::string addresses;  // udev's pattern; empty: any
    std::string ids;        // "0x8086:0x0a54", the same
  };
  std::vector<Line> lines;

  [[nodiscard]] bool lists(const HostDrive& drive) const;
};
[[nodiscard]] UdevListing read_udev_rules(std::string_view text);

}  // namespace reclaim::config
