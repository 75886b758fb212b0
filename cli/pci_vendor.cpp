#include "cli/pci_vendor.h"

#include <algorithm>
#include <array>
#include <utility>

namespace reclaim::cli {
namespace {

using Vendor = std::pair<std::string_view, std::string_view>;

constexpr std::array kVendors = {Vendor{"025e", "Solidigm"},
                                 Vendor{"1179", "Toshiba"},
                                 Vendor{"126f", "Silicon Motion"},
                                 Vendor{"1344", "Micron"},
                                 Vendor{"144d", "Samsung"},
                                 Vendor{"15b7", "SanDisk"},
                                 Vendor{"1987", "Phison"},
                                 Vendor{"19e5", "Huawei"},
                                 Vendor{"1b36", "Red Hat (QEMU)"},
                                 Vendor{"1b96", "Western Digital"},
                                 Vendor{"1bb1", "Seagate"},
                                 Vendor{"1bd4", "Inspur"},
                                 Vendor{"1c58", "HGST"},
                                 Vendor{"1c5c", "SK hynix"},
                                 Vendor{"1c5f", "Memblaze"},
                                 Vendor{"1cc1", "ADATA"},
                                 Vendor{"1d0f", "Amazon"},
                                 Vendor{"1e0f", "KIOXIA"},
                                 Vendor{"2646", "Kingston"},
                                 Vendor{"8086", "Intel"},
                                 Vendor{"c0a9", "Micron (Crucial)"}};

}  // namespace

std::string_view pci_vendor_name(std::string_view vendor_id) {
  const auto* const found = std::find_if(kVendors.begin(), kVendors.end(), [&](const Vendor& each) {
    return each.first == vendor_id;
  });
  return found == kVendors.end() ? std::string_view() : found->second;
}

}  // namespace reclaim::cli
