// The data structures a drive answers with, read byte by byte: a drive is a foreign peer, and the
// layouts of libnvme's headers differ between the versions we build against. Pure.
// Offsets are those of NVM Express Base 2.0 and NVM Command Set 1.0, of the sanitize log those of
// Base 2.1 (Figure 291).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "nvme/controller/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

inline constexpr std::size_t kIdentifyBytes = 4096;
inline constexpr std::size_t kSmartBytes = 512;
inline constexpr std::size_t kSanitizeLogBytes = 512;

// Identify Controller (CNS 01h, Figure 275). A serial number of blanks or of bytes that are no
// printable ASCII is an error: it could not tell one drive from another.
[[nodiscard]] Result<Identity> parse_identify_controller(std::span<const std::byte> page);

// Identify Namespace (CNS 00h of the NVM command set). An inactive namespace (all zero)
// and a block size outside 512 bytes to 64 KiB are errors. `node` is left empty.
[[nodiscard]] Result<NamespaceFacts> parse_identify_namespace(std::span<const std::byte> page,
                                                              std::uint32_t nsid);

// SMART / Health (log 02h).
[[nodiscard]] Result<Counters> parse_smart(std::span<const std::byte> page);

// Sanitize Status (log 81h).
[[nodiscard]] Result<SanitizeLog> parse_sanitize_log(std::span<const std::byte> page);

}  // namespace reclaim::nvme
