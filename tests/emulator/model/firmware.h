// Firmware images as emulated drives take them, and what was downloaded and not yet committed.
// Passive, trivially copyable parts of DriveState.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim::emulator {

inline constexpr std::size_t kFirmwareBytesMax = std::size_t{64} * 1024;

// An image: "RCLIMAGE", the revision (8 characters, blank padded), its bytes (32 bits), zero (32
// bits), an FNV-1a of what follows (64 bits); the rest follows from the revision.
[[nodiscard]] std::vector<std::byte> make_firmware(std::string_view revision, std::size_t bytes);
// The revision of a whole and sound one that `received` begins with, blank padded.
struct ParsedFirmware {
  std::array<char, 8> revision;
  std::size_t bytes;
};
[[nodiscard]] std::optional<ParsedFirmware> parse_firmware_image(
    std::span<const std::byte> received);

struct DownloadState {
  std::array<std::byte, kFirmwareBytesMax> bytes;
  std::array<std::uint64_t, kFirmwareBytesMax / 4 / 64> received;  // a bit for each dword
};

// How Firmware Commit ends where something is to be activated.
enum class Activation : std::uint8_t {
  normal,
  controller_reset,    // at once is answered with "needs a controller reset" (111h)
  subsystem_reset,     // stored; active after a subsystem reset only (110h)
  conventional_reset,  // the same with a conventional reset, as by power (10Bh)
  takes_too_long,      // at once is refused (112h), with a reset it works
  prohibited,          // refused (113h)
};

struct FirmwareFaults {
  Activation activation;
  bool ignores_commit;          // success, and nothing changed
  bool dies_at_activation;      // the reset that activates it leaves the controller dead
  bool resets_at_commit;        // it resets itself instead of answering: internal error, once
  std::array<char, 8> becomes;  // revision that the slot shows instead; NULs: the image's
  std::array<char, 8> says;     // revision that Identify shows once it is active; NULs: the slot's
};

}  // namespace reclaim::emulator
