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
struct SanitizeLog {
  std::uint16_t sprog = 0xffff;  // numerator of n/65536 while in progress
  std::uint16_t sstat = 0;
  std::uint32_t scdw10 = 0;                // dword 10 of the command that started the last sanitize
  std::uint32_t overwrite_s = 0xffffffff;  // ETO, estimated; 0xffffffff: not reported
  std::uint32_t block_s = 0xffffffff;      // ETBE
  std::uint32_t crypto_s = 0xffffffff;     // ETCE
  std::uint32_t deallocate_s = 0xffffffff;  // ETPVDS: after the media verification
  std::uint8_t state = 0;                   // SANS; 0 of a drive without media verification

  [[nodiscard]] unsigned status() const { return sstat & 7U; }
  [[nodiscard]] bool global_data_erased() const { return (sstat & 0x100U) != 0; }
  // Processed, and in progress until a command ends it: the media can be read, nothing be written,
  // and no other sanitize begun (Base 2.1, 8.1.24.3.6).
  [[nodiscard]] bool media_verification() const { return status() == 2 && state == 5; }
  friend bool operator==(const SanitizeLog&, const SanitizeLog&) = default;
};
[[nodiscard]] Result<SanitizeLog> parse_sanitize_log(std::span<const std::byte> page);

}  // namespace reclaim::nvme
