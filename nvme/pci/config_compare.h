// Two readings of one function's configuration space, compared: what of it a tenant must not have
// changed, in words. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

namespace reclaim::nvme {

// Registers that an operator knows to change by themselves; both ends are of it.
struct ConfigRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  friend bool operator==(const ConfigRange&, const ConfigRange&) = default;
};

// A line for each difference ("device id 1017 was 1015", "vendor-specific capability at 0x60
// changed: 0x64 is 12, was 34"); none: they are the same but for what changes by itself
// (volatile_registers(), addresses in BARs, `ignored`). Errc::invalid: one of them cannot be read
// (parse_config_space()), and says which.
[[nodiscard]] Result<std::vector<std::string>> compare_config(
    std::string_view enrolled, std::string_view now, std::span<const ConfigRange> ignored = {});

}  // namespace reclaim::nvme
