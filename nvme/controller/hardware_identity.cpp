#include "nvme/controller/hardware_identity.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kExtendedBegin = 0x100;  // PCIe 7.6: extended capabilities
constexpr std::size_t kConfigBytes = 4096;
constexpr std::uint32_t kDeviceSerialNumber = 0x0003;
// Each takes at least 8 bytes, so that a longer chain is a loop.
constexpr int kCapabilitiesMax = static_cast<int>((kConfigBytes - kExtendedBegin) / 8);
constexpr std::size_t kTextBytesMax = 256;
constexpr std::string_view kSerialField = "dsn=";
constexpr std::string_view kSlotField = "slot=";

std::uint32_t dword_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i > 0; --i) {
    value = value << 8U | static_cast<unsigned char>(bytes[offset + i - 1]);
  }
  return value;
}

// A slot's name is the platform's; what would break the line is not kept.
bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Match compare(const HardwareIdentity& noted, const HardwareIdentity& now) {
  if (!noted.serial_number.empty() && !now.serial_number.empty()) {
    return noted.serial_number == now.serial_number ? Match::same : Match::different;
  }
  const bool moved = !noted.slot.empty() && !now.slot.empty() && noted.slot != now.slot;
  return moved ? Match::different : Match::unknown;
}

std::string encode_hardware(const HardwareIdentity& identity) {
  std::string text;
  if (is_plain(identity.serial_number)) text = std::string(kSerialField) + identity.serial_number;
  if (is_plain(identity.slot)) {
    text += (text.empty() ? "" : " ") + std::string(kSlotField) + identity.slot;
  }
  return text;
}

Result<HardwareIdentity> decode_hardware(std::string_view text) {
  HardwareIdentity identity;
  std::string_view rest = text;
  while (!rest.empty() && text.size() <= kTextBytesMax) {
    const std::string_view field = take_until(rest, ' ');
    if (field.starts_with(kSerialField)) {
      identity.serial_number = field.substr(kSerialField.size());
    } else if (field.starts_with(kSlotField)) {
      identity.slot = field.substr(kSlotField.size());
    }
  }
  if (encode_hardware(identity) == text) return identity;
  return Error{Errc::invalid, fmt::format("'{}' is not a hardware identity; 'dsn=… slot=…' is",
                                          printable_excerpt(text))};
}

std::string device_serial_number(std::string_view config_space) {
  std::size_t offset = kExtendedBegin;
  for (int i = 0; i < kCapabilitiesMax; ++i) {
    if (offset < kExtendedBegin || offset + 12 > config_space.size()) return {};
    const std::uint32_t header = dword_at(config_space, offset);
    if (header == 0 || header == 0xffffffffU) return {};
    if ((header & 0xffffU) == kDeviceSerialNumber) {
      const std::uint32_t low = dword_at(config_space, offset + 4);
      const std::uint32_t high = dword_at(config_space, offset + 8);
      if ((low == 0 && high == 0) || (low == 0xffffffffU && high == 0xffffffffU)) return {};
      std::string text;
      for (const std::uint32_t half : {high, low}) {
        for (const unsigned shift : {24U, 16U, 8U, 0U}) {
          text += fmt::format("{}{:02x}", text.empty() ? "" : "-", half >> shift & 0xffU);
        }
      }
      return text;
    }
    offset = header >> 20U;
  }
  return {};
}

}  // namespace reclaim::nvme
