// Names the maker of a drive, for people who read no numbers. Pure; thread: any.
#pragma once

#include <string_view>

namespace reclaim::cli {

// The maker by the PCI vendor of the drive's controller, four hex digits, as the PCI SIG gave them
// out. Empty: not one of the makers of NVMe drives that are known here.
[[nodiscard]] std::string_view pci_vendor_name(std::string_view vendor_id);

}  // namespace reclaim::cli
