// Settings of firmware: what is in its slots, how a drive takes another one, and the faults of
// that.
#include <algorithm>
#include <array>

#include "tests/emulator/host/setting_values.h"

namespace reclaim::emulator {

const char* const kFirmwareSettingsHelp =
    R"(firmware   firmware_slot=SLOT:REVISION|SLOT:  firmware_pending=SLOT (0 = none)
           fwug=UNITS (of 4K; 255 = any) firmware_piece=OFFSET:BYTES (sent and not committed)
           firmware_activation=normal|controller_reset|subsystem_reset|conventional_reset|
           takes_too_long|prohibited  ignores_commit=0|1 dies_at_activation=0|1
           resets_at_commit=0|1 (once)
           firmware_becomes=REVISION (the slot shows it instead; empty = the image's)
           firmware_says=REVISION (Identify shows it instead; empty = the slot's)
)";

namespace {

constexpr std::uint16_t kOacsFirmware = 1U << 2U;

Status firmware_slot(DriveState& state, const Setting& setting) {
  const std::string& value = setting.value;
  if (value.size() < 2 || value[0] < '1' || value[0] > '7' || value[1] != ':' ||
      value.size() > 10) {
    return bad(setting, "SLOT:REVISION with a slot of 1..7 and at most 8 characters");
  }
  auto& slot = state.firmware_slots[static_cast<std::size_t>(value[0] - '1')];
  slot.fill(value.size() == 2 ? '\0' : ' ');
  std::copy(value.begin() + 2, value.end(), slot.begin());
  Capabilities& can = state.capabilities;
  const auto slots = static_cast<unsigned>(value[0] - '0');
  if ((can.frmw >> 1U & 7U) < slots) {
    can.frmw = static_cast<std::uint8_t>((can.frmw & ~0x0eU) | slots << 1U);
  }
  can.oacs |= kOacsFirmware;
  return Ok{};
}

Status firmware_piece(DriveState& state, const Setting& setting) {
  const auto values = fields(setting, 2);
  if (!values.ok()) return values.error();
  const std::uint64_t offset = (*values)[0];
  const std::uint64_t length = (*values)[1];
  if (offset % 4 != 0 || length % 4 != 0 || offset + length > kFirmwareBytesMax) {
    return bad(setting, "OFFSET:BYTES in dwords, within 64K");
  }
  for (std::uint64_t dword = offset / 4; dword < (offset + length) / 4; ++dword) {
    state.download.received[dword / 64] |= std::uint64_t{1} << dword % 64;
  }
  return Ok{};
}

Status activation(DriveState& state, const Setting& setting) {
  constexpr std::array<std::string_view, 6> kNames{"normal",          "controller_reset",
                                                   "subsystem_reset", "conventional_reset",
                                                   "takes_too_long",  "prohibited"};
  const auto found = std::find(kNames.begin(), kNames.end(), setting.value);
  if (found == kNames.end()) return bad(setting, "one of the words of --help");
  state.faults.firmware.activation = static_cast<Activation>(found - kNames.begin());
  return Ok{};
}

Status revision(const Setting& setting, std::array<char, 8>& into) {
  if (!setting.value.empty()) return text(setting, into, ' ');
  into = {};
  return Ok{};
}

}  // namespace

void add_firmware_settings(SettingTable& table) {
  const auto fault = [&](const char* key, bool FirmwareFaults::*member) {
    table[key] = [member](auto& s, auto& v) { return flag(v, s.faults.firmware.*member); };
  };
  table["firmware_slot"] = firmware_slot;
  table["firmware_piece"] = firmware_piece;
  table["firmware_activation"] = activation;
  table["fwug"] = [](auto& s, auto& v) { return number(v, s.capabilities.fwug); };
  fault("ignores_commit", &FirmwareFaults::ignores_commit);
  fault("dies_at_activation", &FirmwareFaults::dies_at_activation);
  fault("resets_at_commit", &FirmwareFaults::resets_at_commit);
  table["firmware_becomes"] = [](auto& s, auto& v) {
    return revision(v, s.faults.firmware.becomes);
  };
  table["firmware_says"] = [](auto& s, auto& v) { return revision(v, s.faults.firmware.says); };
}

}  // namespace reclaim::emulator
