// The keys of a device_spec entry that say how its drives are cleaned: what nvme/ calls Rules.
// Inner to config/. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/device_spec/device_spec.h"
#include "nvme/rules.h"
#include "state/base/rapidjson.h"
#include "state/base/result.h"

namespace reclaim::config {

inline constexpr std::array<std::string_view, 9> kRuleKeys = {
    "clear_action",        "clear_strategy",   "verify",    "relax",          "firmware",
    "percentage_used_max", "media_errors_max", "zero_rate", "cleanup_timeout"};

// Takes one of kRuleKeys over into the entry; Errc::invalid says what is accepted.
[[nodiscard]] Status read_rule(std::string_view key, const rapidjson::Value& value,
                               DeviceSpec& spec);

// Gives an entry without a verify key the default, and looks whether all goes together: zero with
// crypto, a log that is to be believed where none is.
[[nodiscard]] Status settle_rules(DeviceSpec& spec, nvme::VerifyLevel fallback);

// "500M", "2G", "1048576": bytes a second, K, M, G and T being powers of 1024; 0: no limit.
[[nodiscard]] Result<std::uint64_t> parse_bytes_per_s(std::string_view text);

}  // namespace reclaim::config
