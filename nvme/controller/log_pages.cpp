#include "nvme/controller/log_pages.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/controller/bytes.h"

namespace reclaim::nvme {

Result<Identity> parse_identify_controller(std::span<const std::byte> page) {
  if (auto size = check_size(page, kIdentifyBytes, "Identify Controller"); !size) {
    return std::move(size).error();
  }
  Identity identity;
  identity.serial = text_of(page.subspan(4, 20));
  identity.model = text_of(page.subspan(24, 40));
  identity.firmware = text_of(page.subspan(64, 8));
  identity.cmic = load_le<std::uint8_t>(page, 76);
  identity.capabilities.oacs = load_le<std::uint16_t>(page, 256);
  identity.capacity_bytes = load_le<std::uint64_t>(page, 280);
  identity.capabilities.sanicap = load_le<std::uint32_t>(page, 328);
  identity.capabilities.oncs = load_le<std::uint16_t>(page, 520);
  identity.capabilities.fna = load_le<std::uint8_t>(page, 524);
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
  const auto blocks = load_le<std::uint64_t>(page, 0);
  if (blocks == 0) {
    return Error{Errc::invalid, fmt::format("Identify Namespace: namespace {} has no size: it is "
                                            "not active",
                                            nsid)};
  }
  // FLBAS bits 3:0 and 6:5 index the table of formats; the latter count only where it is longer
  // than 16 entries.
  const auto flbas = load_le<std::uint8_t>(page, 26);
  std::size_t format = flbas & 0xfU;
  if (load_le<std::uint8_t>(page, 25) >= 16)
    format |= static_cast<std::size_t>(flbas >> 1U) & 0x30U;
  const auto shift = load_le<std::uint8_t>(page, 128 + format * 4 + 2);
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
  facts.metadata_bytes = load_le<std::uint16_t>(page, 128 + format * 4);
  facts.dlfeat = load_le<std::uint8_t>(page, 33) & 7U;
  const auto names = page.subspan(104, 24);  // NGUID, EUI64
  const bool named =
      std::any_of(names.begin(), names.end(), [](std::byte each) { return each != std::byte{0}; });
  if (named) {
    for (const std::byte each : names) {
      facts.identifier += fmt::format("{:02x}", std::to_integer<unsigned>(each));
    }
  }
  return facts;
}

Result<Counters> parse_smart(std::span<const std::byte> page) {
  if (auto size = check_size(page, kSmartBytes, "SMART log"); !size) return std::move(size).error();
  return Counters{load_le<std::uint64_t>(page, 64), load_le<std::uint64_t>(page, 80)};
}

Result<SanitizeLog> parse_sanitize_log(std::span<const std::byte> page) {
  if (auto size = check_size(page, 37, "sanitize log"); !size) return std::move(size).error();
  SanitizeLog log;
  log.sprog = load_le<std::uint16_t>(page, 0);
  log.sstat = load_le<std::uint16_t>(page, 2);
  log.scdw10 = load_le<std::uint32_t>(page, 4);
  log.overwrite_s = load_le<std::uint32_t>(page, 8);
  log.block_s = load_le<std::uint32_t>(page, 12);
  log.crypto_s = load_le<std::uint32_t>(page, 16);
  log.deallocate_s = load_le<std::uint32_t>(page, 32);
  log.state = load_le<std::uint8_t>(page, 36) & 0xfU;
  return log;
}

}  // namespace reclaim::nvme
