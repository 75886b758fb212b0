#include "nvme/controller/state_pages.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "nvme/controller/bytes.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kNsidsMax = kPageBytes / 4;
constexpr std::size_t kLogBytes = 512;
constexpr std::size_t kFirmwareSlots = 7;
constexpr std::size_t kSecondaryMax = 127;
constexpr std::uint64_t kBootUnitBytes = std::uint64_t{128} * 1024;

Error malformed(std::string_view page, std::string_view what) {
  return Error{Errc::invalid, fmt::format("{}: {}", page, what)};
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<ControllerAbilities> parse_controller_abilities(std::span<const std::byte> page,
                                                       ControllerState& state) {
  constexpr std::string_view kName = "Identify Controller";
  if (auto size = check_size(page, kPageBytes, kName); !size) return std::move(size).error();
  state.serial = text_of(page.subspan(4, 20));
  state.model = text_of(page.subspan(24, 40));
  state.firmware_revision = text_of(page.subspan(64, 8));
  state.controller_id = load_le<std::uint16_t>(page, 78);
  state.oacs = load_le<std::uint16_t>(page, 256);
  state.host_memory_pages = load_le<std::uint32_t>(page, 272);
  state.capacity_bytes = load_le<std::uint64_t>(page, 280);
  state.unallocated_bytes = load_le<std::uint64_t>(page, 296);
  state.can_sanitize = (load_le<std::uint32_t>(page, 328) & 3U) != 0;
  state.endurance_groups = load_le<std::uint16_t>(page, 340);
  state.oncs = load_le<std::uint16_t>(page, 520);
  state.nwpc = load_le<std::uint8_t>(page, 531);
  if (load_le<std::uint64_t>(page, 288) != 0 || load_le<std::uint64_t>(page, 304) != 0) {
    return malformed(kName, "a capacity of more than 2^64 bytes");
  }
  ControllerAbilities abilities;
  abilities.firmware_updates = load_le<std::uint8_t>(page, 260);
  abilities.transfer_max = load_le<std::uint8_t>(page, 77);
  abilities.update_pieces = load_le<std::uint8_t>(page, 319);
  abilities.log_attributes = load_le<std::uint8_t>(page, 261);
  abilities.rpmb = load_le<std::uint32_t>(page, 312);
  abilities.attributes = load_le<std::uint32_t>(page, 96);
  return abilities;
}

Result<std::vector<std::uint32_t>> parse_nsid_list(std::span<const std::byte> page) {
  constexpr std::string_view kName = "namespace list";
  if (auto size = check_size(page, kPageBytes, kName); !size) return std::move(size).error();
  std::vector<std::uint32_t> nsids;
  for (std::size_t i = 0; i < kNsidsMax; ++i) {
    const auto nsid = load_le<std::uint32_t>(page, i * 4);
    if (nsid == 0) break;
    if (nsid >= 0xfffffffeU || (!nsids.empty() && nsid <= nsids.back())) {
      return malformed(kName, fmt::format("entry {} is {}, which is out of order", i, nsid));
    }
    nsids.push_back(nsid);
  }
  return nsids;
}

Result<NamespaceState> parse_namespace_state(std::span<const std::byte> page, std::uint32_t nsid,
                                             std::vector<LbaFormat>& formats) {
  const std::string name = fmt::format("Identify Namespace {}", nsid);
  if (auto size = check_size(page, kPageBytes, name); !size) return std::move(size).error();
  if (all_zero(page.first(kPageBytes))) return Error{Errc::not_found, name + ": it is not there"};
  // NLBAF is 0-based; where there are more than 16 rows, FLBAS bits 6:5 are the upper index bits.
  const std::size_t rows =
      std::min<std::size_t>(load_le<std::uint8_t>(page, 25) + std::size_t{1}, 64);
  std::vector<LbaFormat> table;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = load_le<std::uint32_t>(page, 128 + i * 4);
    const std::uint32_t shift = row >> 16U & 0xffU;
    LbaFormat format;
    format.block_bytes = shift >= 9 && shift <= 16 ? 1U << shift : 0;
    format.metadata_bytes = static_cast<std::uint16_t>(row & 0xffffU);
    format.performance = static_cast<std::uint8_t>(row >> 24U & 3U);
    table.push_back(format);
  }
  if (formats.empty()) formats = table;
  NamespaceState state;
  state.nsid = nsid;
  state.size_blocks = load_le<std::uint64_t>(page, 0);
  state.capacity_blocks = load_le<std::uint64_t>(page, 8);
  const auto flbas = load_le<std::uint8_t>(page, 26);
  state.format = static_cast<std::uint8_t>(flbas & 0xfU);
  if (rows > 16) state.format = static_cast<std::uint8_t>(state.format | (flbas >> 1U & 0x30U));
  state.protection = load_le<std::uint8_t>(page, 29);
  state.sharing = load_le<std::uint8_t>(page, 30);
  state.attributes = load_le<std::uint8_t>(page, 99);
  if (state.format >= table.size() || table[state.format].block_bytes == 0) {
    return malformed(name,
                     fmt::format("it uses LBA format {}, which it does not have", state.format));
  }
  state.block_bytes = table[state.format].block_bytes;
  state.metadata_bytes = table[state.format].metadata_bytes;
  if (state.size_blocks == 0 || state.size_blocks > ~std::uint64_t{0} / state.block_bytes) {
    return malformed(name, fmt::format("{} blocks of {} bytes are not a size", state.size_blocks,
                                       state.block_bytes));
  }
  return state;
}

Result<HealthState> parse_health(std::span<const std::byte> page) {
  if (auto size = check_size(page, kLogBytes, "SMART log"); !size) return std::move(size).error();
  HealthState health;
  health.critical_warning = load_le<std::uint8_t>(page, 0);
  health.available_spare = load_le<std::uint8_t>(page, 3);
  health.spare_threshold = load_le<std::uint8_t>(page, 4);
  health.percentage_used = load_le<std::uint8_t>(page, 5);
  health.data_units_written = load_le<std::uint64_t>(page, 48);
  health.power_on_hours = load_le<std::uint64_t>(page, 128);
  health.unsafe_shutdowns = load_le<std::uint64_t>(page, 144);
  health.media_errors = load_le<std::uint64_t>(page, 160);
  return health;
}

Result<FirmwareState> parse_firmware(std::span<const std::byte> page) {
  constexpr std::string_view kName = "firmware slot log";
  if (auto size = check_size(page, kLogBytes, kName); !size) return std::move(size).error();
  FirmwareState firmware;
  const auto active = load_le<std::uint8_t>(page, 0);
  firmware.active_slot = active & 7U;
  firmware.next_slot = active >> 4U & 7U;
  for (std::size_t slot = 0; slot < kFirmwareSlots; ++slot) {
    firmware.revisions.push_back(text_of(page.subspan(8 + slot * 8, 8)));
  }
  if (firmware.active_slot == 0) return malformed(kName, "no slot is active");
  return firmware;
}

Result<std::uint8_t> parse_self_test(std::span<const std::byte> page) {
  if (auto size = check_size(page, 4, "self-test log"); !size) return std::move(size).error();
  return static_cast<std::uint8_t>(load_le<std::uint8_t>(page, 0) & 0xfU);
}

Result<std::vector<std::uint8_t>> parse_lockdown(std::span<const std::byte> page) {
  constexpr std::string_view kName = "lockdown log";
  if (auto size = check_size(page, kLogBytes, kName); !size) return std::move(size).error();
  const std::size_t count = load_le<std::uint8_t>(page, 3);
  std::vector<std::uint8_t> identifiers;
  for (std::size_t i = 0; i < count; ++i) {
    identifiers.push_back(load_le<std::uint8_t>(page, 4 + i));
  }
  return identifiers;
}

Result<bool> parse_supported_log(std::span<const std::byte> page, std::uint8_t log) {
  if (auto size = check_size(page, 1024, "log of supported logs"); !size) {
    return std::move(size).error();
  }
  return (load_le<std::uint32_t>(page, std::size_t{log} * 4) & 1U) != 0;
}

Result<BootHeader> parse_boot_header(std::span<const std::byte> page) {
  constexpr std::string_view kName = "boot partition log";
  if (auto size = check_size(page, kBootHeaderBytes, kName); !size) return std::move(size).error();
  const auto info = load_le<std::uint32_t>(page, 4);
  BootHeader header;
  header.active = info >> 31U;
  header.bytes = (info & 0x7fffU) * kBootUnitBytes;
  return header;
}

Result<std::string> parse_nvm_sets(std::span<const std::byte> page) {
  constexpr std::string_view kName = "NVM set list";
  constexpr std::size_t kEntryBytes = 128;
  if (auto size = check_size(page, kPageBytes, kName); !size) return std::move(size).error();
  const std::size_t count = load_le<std::uint8_t>(page, 0);
  if (count >= kPageBytes / kEntryBytes) {
    return malformed(kName, fmt::format("{} entries", count));
  }
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = page.subspan((i + 1) * kEntryBytes, kEntryBytes);
    text += fmt::format("{}{} of group {}: {} bytes", i == 0 ? "" : "; ",
                        load_le<std::uint16_t>(entry, 0), load_le<std::uint16_t>(entry, 2),
                        load_le<std::uint64_t>(entry, 16));
  }
  return text;
}

Result<std::vector<std::uint16_t>> parse_endurance_groups(std::span<const std::byte> page) {
  constexpr std::string_view kName = "endurance group list";
  if (auto size = check_size(page, kPageBytes, kName); !size) return std::move(size).error();
  const std::size_t count = load_le<std::uint16_t>(page, 0);
  if (count >= kPageBytes / 2) return malformed(kName, fmt::format("{} entries", count));
  std::vector<std::uint16_t> groups;
  for (std::size_t i = 1; i <= count; ++i) groups.push_back(load_le<std::uint16_t>(page, i * 2));
  return groups;
}

Result<std::vector<SecondaryController>> parse_secondary_controllers(
    std::span<const std::byte> page) {
  constexpr std::string_view kName = "secondary controller list";
  if (auto size = check_size(page, kPageBytes, kName); !size) return std::move(size).error();
  const std::size_t count = load_le<std::uint8_t>(page, 0);
  if (count > kSecondaryMax) return malformed(kName, fmt::format("{} entries", count));
  std::vector<SecondaryController> found;
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = page.subspan(32 + i * 32, 32);
    SecondaryController one;
    one.id = load_le<std::uint16_t>(entry, 0);
    one.online = (load_le<std::uint8_t>(entry, 4) & 1U) != 0;
    one.queues = load_le<std::uint16_t>(entry, 10);
    one.interrupts = load_le<std::uint16_t>(entry, 12);
    found.push_back(one);
  }
  return found;
}

Result<std::vector<std::uint8_t>> parse_security_protocols(std::span<const std::byte> page) {
  constexpr std::string_view kName = "list of security protocols";
  if (auto size = check_size(page, 8, kName); !size) return std::move(size).error();
  const std::size_t count = load_be<std::uint16_t>(page, 6);
  if (count > page.size() - 8) return malformed(kName, fmt::format("{} entries", count));
  std::vector<std::uint8_t> protocols;
  for (std::size_t i = 0; i < count; ++i) protocols.push_back(load_le<std::uint8_t>(page, 8 + i));
  return protocols;
}

Result<OpalState> parse_level0(std::span<const std::byte> page) {
  constexpr std::string_view kName = "TCG Level 0 Discovery";
  constexpr std::size_t kHeaderBytes = 48;
  constexpr std::uint16_t kLocking = 0x0002;
  constexpr std::uint16_t kBlockSid = 0x0402;
  // Opal 1 and 2, Opalite, Pyrite 1 and 2, Ruby: each begins with its base ComID.
  constexpr std::array<std::uint16_t, 6> kWithComId = {0x0200, 0x0203, 0x0301,
                                                       0x0302, 0x0303, 0x0304};
  if (auto size = check_size(page, kHeaderBytes, kName); !size) return std::move(size).error();
  OpalState opal;
  // The length does not count itself.
  const std::size_t length = std::size_t{load_be<std::uint32_t>(page, 0)} + 4;
  if (length == 4) return opal;
  if (length < kHeaderBytes || length > page.size()) {
    return malformed(kName, fmt::format("it says that it is {} bytes long", length));
  }
  opal.supported = length > kHeaderBytes;
  for (std::size_t at = kHeaderBytes; at < length;) {
    const auto rest = page.subspan(at, length - at);
    if (rest.size() < 4) return malformed(kName, "its last feature is cut off");
    const auto code = load_be<std::uint16_t>(rest, 0);
    const std::size_t bytes = load_le<std::uint8_t>(rest, 3);
    if (bytes > rest.size() - 4) {
      return malformed(kName, fmt::format("feature {:#06x} is cut off", code));
    }
    const bool known = code == kLocking || code == kBlockSid;
    if (known && bytes == 0) return malformed(kName, fmt::format("feature {:#06x} is empty", code));
    const auto flags = known ? load_le<std::uint8_t>(rest, 4) : std::uint8_t{0};
    if (code == kLocking) {
      opal.locking_enabled = (flags & 0x02U) != 0;
      opal.locked = (flags & 0x04U) != 0;
      opal.mbr_enabled = (flags & 0x10U) != 0;
      opal.mbr_done = (flags & 0x20U) != 0;
    } else if (code == kBlockSid) {
      opal.sid_known = true;
      opal.sid_changed = (flags & 0x01U) != 0;
      opal.sid_blocked = (flags & 0x02U) != 0;
    } else if (std::count(kWithComId.begin(), kWithComId.end(), code) != 0 && bytes >= 2 &&
               opal.com_id == 0) {
      opal.com_id = load_be<std::uint16_t>(rest, 4);
    }
    at += 4 + bytes;
  }
  return opal;
}

std::array<std::byte, kRpmbFrameBytes> rpmb_counter_request(std::uint8_t target,
                                                            std::span<const std::byte, 16> nonce) {
  std::array<std::byte, kRpmbFrameBytes> frame{};
  frame[223] = std::byte{target};
  std::copy(nonce.begin(), nonce.end(), frame.begin() + 224);
  store_le(frame, 254, std::uint16_t{0x0002});
  return frame;
}

Result<bool> parse_rpmb_counter(std::span<const std::byte> frame,
                                std::span<const std::byte, 16> nonce) {
  constexpr std::string_view kName = "RPMB write counter";
  constexpr std::uint16_t kNoKey = 7;
  if (auto size = check_size(frame, kRpmbFrameBytes, kName); !size) return std::move(size).error();
  const auto type = load_le<std::uint16_t>(frame, 254);
  const auto result = static_cast<std::uint16_t>(load_le<std::uint16_t>(frame, 252) & 0x7fU);
  if (type != 0x0200) {
    return malformed(kName, fmt::format("the answer is of type {:#06x}, not 0x0200", type));
  }
  if (result == kNoKey) return false;
  if (result != 0) return malformed(kName, fmt::format("the answer is result {:#04x}", result));
  if (!std::equal(nonce.begin(), nonce.end(), frame.begin() + 224)) {
    return malformed(kName, "the answer has another nonce than the question");
  }
  return true;
}

Status parse_reservations(std::span<const std::byte> page, NamespaceState& into) {
  if (auto size = check_size(page, 24, "Reservation Report"); !size) return size;
  into.reservation = load_le<std::uint8_t>(page, 4);
  into.registrants = load_le<std::uint16_t>(page, 5);
  into.reservation_persists = (load_le<std::uint8_t>(page, 9) & 1U) != 0;
  return Ok{};
}

}  // namespace reclaim::nvme
