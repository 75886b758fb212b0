// Firmware Image Download and Firmware Commit, actions 0 to 3.
#include "tests/emulator/model/firmware.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint16_t kOacsFirmware = 1U << 2U;
constexpr std::string_view kMagic = "RCLIMAGE";
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kPageBytes = 4096;
constexpr std::uint8_t kAnyPieces = 0xff;

std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte each : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3ULL;
  }
  return hash;
}

bool has(const DownloadState& download, std::size_t dword) {
  return (download.received[dword / 64] >> dword % 64 & 1U) != 0;
}

}  // namespace

std::vector<std::byte> make_firmware(std::string_view revision, std::size_t bytes) {
  std::vector<std::byte> image(std::max(bytes, kHeaderBytes));
  std::array<char, 8> padded;
  padded.fill(' ');
  std::copy_n(revision.begin(), std::min(revision.size(), padded.size()), padded.begin());
  std::uint64_t word = 0;
  std::memcpy(&word, padded.data(), sizeof(word));
  for (std::size_t at = kHeaderBytes; at < image.size(); ++at) {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    image[at] = static_cast<std::byte>(word >> 56U);
  }
  const auto total = static_cast<std::uint32_t>(image.size());
  const std::uint64_t sum = checksum(std::span(image).subspan(kHeaderBytes));
  std::memcpy(image.data(), kMagic.data(), kMagic.size());
  std::memcpy(image.data() + 8, padded.data(), padded.size());
  std::memcpy(image.data() + 16, &total, sizeof(total));
  std::memcpy(image.data() + 24, &sum, sizeof(sum));
  return image;
}

std::optional<ParsedFirmware> parse_firmware_image(std::span<const std::byte> received) {
  std::uint32_t total = 0;
  std::uint64_t sum = 0;
  if (received.size() < kHeaderBytes) return std::nullopt;
  if (std::memcmp(received.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  ParsedFirmware parsed{};
  std::memcpy(parsed.revision.data(), received.data() + 8, parsed.revision.size());
  std::memcpy(&total, received.data() + 16, sizeof(total));
  std::memcpy(&sum, received.data() + 24, sizeof(sum));
  if (total < kHeaderBytes || total > received.size()) return std::nullopt;
  if (sum != checksum(received.subspan(kHeaderBytes, total - kHeaderBytes))) return std::nullopt;
  parsed.bytes = total;
  return parsed;
}

Completion Controller::download_firmware(const Command& command) {
  const Capabilities& can = state_.capabilities;
  if ((can.oacs & kOacsFirmware) == 0) return Completion{kInvalidOpcode, 0};
  const std::size_t length = (std::size_t{command.cdw10} + 1) * 4;
  const std::size_t offset = std::size_t{command.cdw11} * 4;
  const bool pieced = can.fwug != 0 && can.fwug != kAnyPieces;
  if (command.data.size() < length || offset + length > kFirmwareBytesMax ||
      (can.mdts != 0 && length > kPageBytes << can.mdts) ||
      (pieced && offset % (can.fwug * kPageBytes) != 0)) {
    return Completion{kInvalidField, 0};
  }
  DownloadState& download = state_.download;
  for (std::size_t dword = offset / 4; dword < (offset + length) / 4; ++dword) {
    if (has(download, dword)) return Completion{kOverlappingRange, 0};
  }
  for (std::size_t dword = offset / 4; dword < (offset + length) / 4; ++dword) {
    download.received[dword / 64] |= std::uint64_t{1} << dword % 64;
  }
  std::copy_n(command.data.begin(), length,
              download.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  return Completion{};
}

// Puts what was downloaded, if it is one whole image and nothing else, into the slot. Tools send
// the last page whole.
std::uint16_t Controller::store_firmware(std::uint8_t slot) {
  DownloadState& download = state_.download;
  const auto parsed = parse_firmware_image(download.bytes);
  if (!parsed) return kInvalidFirmwareImage;
  const std::size_t pages = (parsed->bytes + kPageBytes - 1) / kPageBytes;
  for (std::size_t dword = 0; dword < kFirmwareBytesMax / 4; ++dword) {
    const bool received = has(download, dword);
    if (!received && dword < (parsed->bytes + 3) / 4) return kInvalidFirmwareImage;
    if (received && dword >= pages * kPageBytes / 4) return kOverlappingRange;
  }
  const bool lies = state_.faults.firmware.becomes[0] != '\0';
  state_.firmware_slots[slot - 1U] = lies ? state_.faults.firmware.becomes : parsed->revision;
  return kSuccess;
}

void Controller::activate_firmware(std::uint8_t slot) {
  ++state_.firmware_activations;
  state_.firmware_slot_active = slot;
  state_.firmware_slot_pending = 0;
  const bool lies = state_.faults.firmware.says[0] != '\0';
  state_.firmware = lies ? state_.faults.firmware.says : state_.firmware_slots[slot - 1U];
}

Completion Controller::commit_firmware(const Command& command) {
  constexpr std::uint32_t kReplace = 0;
  constexpr std::uint32_t kReplaceLater = 1;  // and 2: what the slot holds, later
  constexpr std::uint32_t kAtOnce = 3;
  constexpr std::uint32_t kAtOnceBit = 1U << 4U;  // FRMW
  const Capabilities& can = state_.capabilities;
  FirmwareFaults& faults = state_.faults.firmware;
  if ((can.oacs & kOacsFirmware) == 0) return Completion{kInvalidOpcode, 0};
  const auto slot = static_cast<std::uint8_t>(command.cdw10 & 7U);
  const std::uint32_t action = command.cdw10 >> 3U & 7U;
  if (action > kAtOnce) return Completion{kInvalidFirmwareImage, 0};
  if (slot == 0 || slot > (can.frmw >> 1U & 7U)) return Completion{kInvalidFirmwareSlot, 0};
  const bool downloaded =
      std::any_of(state_.download.received.begin(), state_.download.received.end(),
                  [](std::uint64_t bits) { return bits != 0; });
  const bool stores =
      action == kReplace || action == kReplaceLater || (action == kAtOnce && downloaded);
  if (stores && slot == 1 && (can.frmw & 1U) != 0) return Completion{kInvalidFirmwareSlot, 0};
  if (action == kAtOnce && (can.frmw & kAtOnceBit) == 0 && downloaded) {
    return Completion{kInvalidField, 0};
  }
  if (std::exchange(faults.resets_at_commit, false)) {
    reset();
    return Completion{kInternalError, 0};
  }
  if (faults.ignores_commit) {
    state_.download = DownloadState{};
    return Completion{};
  }
  if (action != kReplace && faults.activation == Activation::prohibited) {
    return Completion{kActivationProhibited, 0};
  }
  if (action == kAtOnce && faults.activation == Activation::takes_too_long) {
    return Completion{kTakesTooLong, 0};
  }
  if (stores) {
    const std::uint16_t stored = store_firmware(slot);
    state_.download = DownloadState{};
    if (stored != kSuccess) return Completion{stored, 0};
  }
  if (action == kReplace) return Completion{};
  if (state_.firmware_slots[slot - 1U][0] == '\0') return Completion{kInvalidFirmwareImage, 0};
  switch (faults.activation) {
    case Activation::subsystem_reset:
    case Activation::conventional_reset:
      state_.firmware_slot_pending = slot;
      state_.firmware_needs_power = true;
      return Completion{
          faults.activation == Activation::subsystem_reset ? kNeedsSubsystemReset : kNeedsReset, 0};
    case Activation::controller_reset:
      if (action != kAtOnce) break;
      state_.firmware_slot_pending = slot;
      return Completion{kNeedsControllerReset, 0};
    default:
      break;
  }
  if (action == kAtOnce) {
    activate_firmware(slot);
  } else {
    // That the active slot is to stay active calls off another one; its new image waits as well.
    const bool same = !stores && slot == state_.firmware_slot_active &&
                      state_.firmware_slots[slot - 1U] == state_.firmware;
    state_.firmware_slot_pending = same ? std::uint8_t{0} : slot;
  }
  return Completion{};
}

// What was sent and not committed is gone; what waited for a reset is active.
void Controller::reset_firmware(bool power_lost) {
  state_.download = DownloadState{};
  const std::uint8_t waits = state_.firmware_slot_pending;
  if (waits == 0 || (state_.firmware_needs_power && !power_lost)) return;
  state_.firmware_needs_power = false;
  activate_firmware(waits);
  if (state_.faults.firmware.dies_at_activation) state_.faults.reset_fails = true;
}

}  // namespace reclaim::emulator
