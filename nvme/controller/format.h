// Plans the Format NVM commands that erase a drive: their scope by FNA, and the format that each
// namespace has and keeps. Pure. Sources: NVM Express Base 2.0, "Format NVM command" and Identify
// Controller, FNA; NVM Command Set 1.0, Identify Namespace, FLBAS and DPS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nvme/controller/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

inline constexpr std::uint32_t kNsidAll = 0xffffffff;

// The format of a namespace, as Format NVM wants it said again to keep it.
struct NamespaceFormat {
  std::uint32_t nsid = 0;
  std::uint8_t lba_format = 0;     // 0..63
  bool metadata_extended = false;  // at the end of each block, not in a buffer of its own
  std::uint8_t protection = 0;     // type of the protection information, 0 none
  bool protection_first = false;   // in the first bytes of the metadata, not the last
  friend bool operator==(const NamespaceFormat&, const NamespaceFormat&) = default;
};

// Identify Namespace, 4096 bytes.
[[nodiscard]] Result<NamespaceFormat> parse_namespace_format(std::span<const std::byte> page,
                                                             std::uint32_t nsid);

// Identify, a list of namespaces: ends at the first 0.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_namespace_list(
    std::span<const std::byte> page);

// Secure Erase Settings of the method: 2 crypto erase, 1 user data erase. Never 0, which erases
// nothing.
[[nodiscard]] std::uint8_t secure_erase_setting(EraseMethod method);

// One command with NSID FFFFFFFFh where the drive formats or erases all namespaces at once anyway
// (FNA bit 0 or 1) and takes that NSID (bit 3 clear); otherwise one for each namespace.
// Errc::failed where the drive formats all alike (bit 0) and their formats differ: one would be
// changed.
[[nodiscard]] Result<std::vector<NamespaceFormat>> plan_format(
    const std::vector<NamespaceFormat>& namespaces, std::uint8_t fna);

// The time that one command may take: all that is left until the deadline of the erase, but never
// less than `at_least_ms`, since on expiry the kernel resets a controller that is formatting.
[[nodiscard]] std::uint32_t format_command_timeout_ms(std::int64_t left_ms,
                                                      std::uint32_t at_least_ms);

}  // namespace reclaim::nvme
