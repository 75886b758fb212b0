#include "nvme/log_pages.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

// NVMe is little endian throughout.
template <typename Number>
Number read_le(std::span<const std::byte> page, std::size_t offset) {
  CHECK(offset + sizeof(Number) <= page.size());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= std::to_integer<std::uint64_t>(page[offset + i]) << (8U * i);
  }
  return static_cast<Number>(value);
}

// A fixed field of printable ASCII, padded with blanks (some drives pad with NULs). What is not
// printable becomes '?', so that no drive can write control characters into a log.
std::string read_text(std::span<const std::byte> page, std::size_t offset, std::size_t length) {
  CHECK(offset + length <= page.size());
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    const char c = std::to_integer<char>(page[offset + i]);
    text += c == '\0' ? ' ' : (c < ' ' || c > '~') ? '?' : c;
  }
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Status check_size(std::span<const std::byte> page, std::size_t wanted, std::string_view name) {
  if (page.size() >= wanted) return Ok{};
  return Error{Errc::invalid,
               fmt::format("{} is {} bytes long instead of {}", name, page.size(), wanted)};
}

}  // namespace

Result<Identity> parse_identify_controller(std::span<const std::byte> page) {
  if (auto size = check_size(page, kIdentifyBytes, "Identify Controller"); !size) {
    return std::move(size).error();
  }
  Identity identity;
  identity.serial = read_text(page, 4, 20);
  identity.model = read_text(page, 24, 40);
  identity.firmware = read_text(page, 64, 8);
  identity.cmic = read_le<std::uint8_t>(page, 76);
  identity.capabilities.oacs = read_le<std::uint16_t>(page, 256);
  identity.capabilities.sanicap = read_le<std::uint32_t>(page, 328);
  identity.capabilities.oncs = read_le<std::uint16_t>(page, 520);
  identity.capabilities.fna = read_le<std::uint8_t>(page, 524);
  if (identity.serial.empty() || identity.serial.find('?') != std::string::npos) {
    return Error{Errc::invalid,
                 fmt::format("Identify Controller: the serial number '{}' is empty or not "
                             "printable; without one the drive cannot be told from another",
                             identity.serial)};
  }
  return identity;
}

Result<NamespaceFacts> parse_identify_namespace(std::span<const std::byte> page,
                                                std::uint32_t nsid) {
  if (auto size = check_size(page, kIdentifyBytes, "Identify Namespace"); !size) {
    return std::move(size).error();
  }
  const auto blocks = read_le<std::uint64_t>(page, 0);
  if (blocks == 0) {
    return Error{Errc::invalid, fmt::format("Identify Namespace: namespace {} has no size: it is "
                                            "not active",
                                            nsid)};
  }
  // FLBAS bits 3:0 and 6:5 index the table of formats; the latter count only where it is longer
  // than 16 entries.
  const auto flbas = read_le<std::uint8_t>(page, 26);
  std::size_t format = flbas & 0xfU;
  if (read_le<std::uint8_t>(page, 25) >= 16)
    format |= static_cast<std::size_t>(flbas >> 1U) & 0x30U;
  const auto shift = read_le<std::uint8_t>(page, 128 + format * 4 + 2);
  if (shift < 9 || shift > 16) {
    return Error{Errc::invalid, fmt::format("Identify Namespace: namespace {} has blocks of 2^{} "
                                            "bytes; 2^9 to 2^16 are accepted",
                                            nsid, shift)};
  }
  if (blocks > (~std::uint64_t{0} >> shift)) {
    return Error{
        Errc::invalid,
        fmt::format("Identify Namespace: namespace {} claims {} blocks of 2^{} bytes, more "
                    "than 64 bits can address",
                    nsid, blocks, shift)};
  }
  NamespaceFacts facts;
  facts.nsid = nsid;
  facts.block_bytes = 1U << shift;
  facts.capacity_bytes = blocks << shift;
  facts.dlfeat = read_le<std::uint8_t>(page, 33) & 7U;
  return facts;
}

Result<Counters> parse_smart(std::span<const std::byte> page) {
  if (auto size = check_size(page, kSmartBytes, "SMART log"); !size) return std::move(size).error();
  return Counters{read_le<std::uint64_t>(page, 64), read_le<std::uint64_t>(page, 80)};
}

Result<SanitizeLog> parse_sanitize_log(std::span<const std::byte> page) {
  if (auto size = check_size(page, 32, "sanitize log"); !size) return std::move(size).error();
  SanitizeLog log;
  log.sprog = read_le<std::uint16_t>(page, 0);
  log.sstat = read_le<std::uint16_t>(page, 2);
  log.scdw10 = read_le<std::uint32_t>(page, 4);
  log.overwrite_s = read_le<std::uint32_t>(page, 8);
  log.block_s = read_le<std::uint32_t>(page, 12);
  log.crypto_s = read_le<std::uint32_t>(page, 16);
  return log;
}

}  // namespace reclaim::nvme
