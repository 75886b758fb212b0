// A PCI function's address. Nova writes it in upper case, sysfs and Cyborg in lower: we fold on the
// way in and print lower case, so that two spellings of one address are one value.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim {

struct PciAddress {
  std::uint32_t domain = 0;  // 16 bits usual; VMD domains are 32 bits wide
  std::uint8_t bus = 0;
  std::uint8_t slot = 0;      // 0..31; Cyborg's attach handle calls it `device`
  std::uint8_t function = 0;  // 0..7

  friend constexpr auto operator<=>(const PciAddress&, const PciAddress&) = default;
};

// "0000:c1:00.0", or with more domain digits where the domain needs them.
[[nodiscard]] std::string to_string(const PciAddress& address);
// Exactly DDDD[DDDD]:BB:SS.F in either case.
[[nodiscard]] Result<PciAddress> parse_pci_address(std::string_view text);

}  // namespace reclaim
