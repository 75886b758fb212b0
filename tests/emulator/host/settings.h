// `key=value` settings of one drive: what it is made of, how it feels, how it lies. The one list
// that `reclaim-emulator create`, `set` and the tests share; `kSettingsHelp` is printed by the
// tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "tests/emulator/model/drive_state.h"

namespace reclaim::emulator {

struct Setting {
  std::string key;
  std::string value;
};

extern const char* const kSettingsHelp;
extern const char* const kFirmwareSettingsHelp;  // of firmware
extern const char* const kPageSettingsHelp;      // of what a real drive answered
extern const char* const kSurfaceSettingsHelp;   // of what a tenant may have left beside blocks

// "64M", "1G", "4096"; suffixes K, M, G, T are powers of 1024.
Result<std::uint64_t> parse_size(std::string_view text);
// "address=0000:01:00.0,serial=S1,…"
Result<std::vector<Setting>> parse_settings(std::string_view text);
Status apply_setting(DriveState& state, const Setting& setting);

}  // namespace reclaim::emulator
