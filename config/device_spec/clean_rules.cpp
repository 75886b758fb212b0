#include "config/device_spec/clean_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "nvme/erase/policy.h"
#include "state/base/check.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kFirmwareMax = 64;
constexpr std::size_t kFirmwareBytes = 8;  // Identify Controller, Firmware Revision
constexpr std::uint64_t kNoLimitPercent = 255;
constexpr int kTimeoutMinS = 60;
constexpr int kTimeoutMaxS = 604'800;

std::string text_of(const rapidjson::Value& value) {
  return std::string(value.GetString(), value.GetStringLength());
}

// A word as written; of anything else its JSON, which no word equals.
std::string word_of(const rapidjson::Value& value) {
  return value.IsString() ? text_of(value) : json::to_text(value);
}

template <typename T>
Status take(Result<T> parsed, T& into) {
  if (!parsed.ok()) return std::move(parsed).error();
  into = *std::move(parsed);
  return Ok{};
}

Status read_relax(const rapidjson::Value& value, nvme::Relaxations& relaxed) {
  bool good = value.IsArray();
  if (good) {
    for (const auto& name : value.GetArray()) good = good && name.IsString();
  }
  if (!good) {
    return Error{Errc::invalid, "'relax' must be a list of names like [\"global_data_erased\"]"};
  }
  for (const auto& name : value.GetArray()) {
    if (Status added = nvme::relax(relaxed, text_of(name)); !added.ok()) return added;
  }
  return Ok{};
}

Status read_firmware(const rapidjson::Value& value, std::vector<std::string>& allowed) {
  bool good = value.IsArray() && !value.Empty() && value.Size() <= kFirmwareMax;
  if (good) {
    for (const auto& revision : value.GetArray()) {
      good = good && revision.IsString() && revision.GetStringLength() > 0 &&
             revision.GetStringLength() <= kFirmwareBytes;
    }
  }
  if (!good) {
    return Error{Errc::invalid,
                 fmt::format("'firmware' must be a list of 1 to {} revisions of at most {} "
                             "characters, as `nvme list` shows them",
                             kFirmwareMax, kFirmwareBytes)};
  }
  for (const auto& revision : value.GetArray()) allowed.push_back(text_of(revision));
  return Ok{};
}

Result<std::uint64_t> whole_number(std::string_view key, const rapidjson::Value& value,
                                   std::uint64_t max) {
  if (value.IsUint64() && value.GetUint64() <= max) return value.GetUint64();
  return Error{Errc::invalid, fmt::format("'{}' is {}, a whole number from 0 to {} is needed", key,
                                          printable_excerpt(json::to_text(value)), max)};
}

Status read_rate(const rapidjson::Value& value, std::uint64_t& rate) {
  if (value.IsUint64()) {
    rate = value.GetUint64();
    return Ok{};
  }
  Status read = take(parse_bytes_per_s(word_of(value)), rate);
  if (!read.ok()) return read.error().wrap("'zero_rate'");
  return read;
}

// The bounds of [nvme] cleanup_timeout.
Status read_timeout(const rapidjson::Value& value, std::optional<int>& timeout_s) {
  if (!value.IsInt() || value.GetInt() < kTimeoutMinS || value.GetInt() > kTimeoutMaxS) {
    return Error{Errc::invalid,
                 fmt::format("'cleanup_timeout' is {}, a whole number of seconds from {} to {} is "
                             "needed",
                             printable_excerpt(json::to_text(value)), kTimeoutMinS, kTimeoutMaxS)};
  }
  timeout_s = value.GetInt();
  return Ok{};
}

// A method that the entry's action stands for, as far as verification is concerned.
nvme::EraseMethod method_like(nvme::ClearAction action) {
  switch (action) {
    case nvme::ClearAction::zero:
      return nvme::EraseMethod::overwrite;
    case nvme::ClearAction::format:
      return nvme::EraseMethod::format_user_data;
    case nvme::ClearAction::auto_:
    case nvme::ClearAction::sanitize:
      break;
  }
  return nvme::EraseMethod::sanitize_block;
}

}  // namespace

Status read_rule(std::string_view key, const rapidjson::Value& value, DeviceSpec& spec) {
  nvme::Rules& rules = spec.rules;
  if (key == "clear_action") return take(nvme::parse_clear_action(word_of(value)), rules.action);
  if (key == "clear_strategy") {
    return take(nvme::parse_clear_strategy(word_of(value)), rules.strategy);
  }
  if (key == "verify") {
    const auto level = nvme::parse_verify_level(word_of(value));
    if (!level.ok()) return level.error();
    spec.verify = *level;
    return Ok{};
  }
  if (key == "relax") return read_relax(value, rules.relaxed);
  if (key == "firmware") return read_firmware(value, rules.firmware_allowed);
  if (key == "zero_rate") return read_rate(value, rules.zero_bytes_per_s_max);
  if (key == "percentage_used_max") {
    const auto percent = whole_number(key, value, kNoLimitPercent);
    if (!percent.ok()) return percent.error();
    rules.health.percentage_used_max = static_cast<std::uint8_t>(*percent);
    return Ok{};
  }
  if (key == "cleanup_timeout") return read_timeout(value, spec.cleanup_timeout_s);
  CHECK(key == "media_errors_max");
  return take(whole_number(key, value, std::numeric_limits<std::uint64_t>::max()),
              rules.health.media_errors_delta_max);
}

Status settle_rules(DeviceSpec& spec, nvme::VerifyLevel fallback) {
  nvme::Rules& rules = spec.rules;
  if (Status sound = nvme::check_policy({rules.action, rules.strategy}); !sound.ok()) return sound;
  rules.verify = spec.verify.value_or(fallback);
  Status judged = nvme::check_verification(rules, method_like(rules.action));
  if (judged.ok()) return judged;
  return judged.error().wrap(spec.verify ? "this entry" : "this entry, with [nvme] verify");
}

Result<std::uint64_t> parse_bytes_per_s(std::string_view text) {
  constexpr std::string_view kSuffixes = "kmgt";
  std::string_view digits = strip(text);
  unsigned shift = 0;
  if (!digits.empty()) {
    const char last = digits.back();
    if (const std::size_t at = kSuffixes.find(lower(last)); at != std::string_view::npos) {
      shift = 10U * (static_cast<unsigned>(at) + 1U);
      digits.remove_suffix(1);
    }
  }
  const auto number = parse_number<std::uint64_t>(digits);
  if (!number || *number > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is not a rate: bytes a second like 1048576, 500M or 2G are "
                             "accepted (K, M, G, T; 0: no limit)",
                             printable_excerpt(text))};
  }
  return *number << shift;
}

}  // namespace reclaim::config
