// The keys of a [devices] device_spec entry that an [nvme] one does not have: what a PCI function
// that is no drive is called, stands on, and may have changed. Inner to config/. Pure.
#pragma once

#include <array>
#include <string_view>

#include "config/device_spec/device_spec.h"
#include "state/base/rapidjson.h"
#include "state/base/result.h"

namespace reclaim::config {

inline constexpr std::array<std::string_view, 4> kFunctionKeys = {"type", "driver", "rom_sha256",
                                                                  "config_ignore"};

// Takes one of kFunctionKeys over into the entry; Errc::invalid says what is accepted.
[[nodiscard]] Status read_function_key(std::string_view key, const rapidjson::Value& value,
                                       DeviceSpec& spec);

}  // namespace reclaim::config
