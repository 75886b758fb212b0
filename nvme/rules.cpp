// Names of what device_spec may say.
#include "nvme/rules.h"

#include <fmt/core.h>

#include "state/base/enum_names.h"

namespace reclaim::nvme {

namespace {

constexpr auto kClearActions =
    enum_names<ClearAction::format>("auto", "sanitize", "zero", "format");
constexpr auto kClearStrategies = enum_names<ClearStrategy::block>("auto", "crypto", "block");
constexpr auto kWarnings =
    enum_names<Warning::pmr>("spare", "temperature", "reliability", "read_only", "backup", "pmr");
constexpr auto kVerifyLevels = enum_names<VerifyLevel::full>("log", "sample", "nist", "full");

template <typename Enum, std::size_t N>
Result<Enum> parse(const EnumNames<Enum, N>& names, std::string_view key, std::string_view text) {
  if (const auto value = names.find(text)) return *value;
  return Error{Errc::invalid,
               fmt::format("{} '{}' is not one of {}", key, text.substr(0, 64), names.list())};
}

}  // namespace

std::string_view to_string(Warning warning) {
  return kWarnings[warning];
}

std::string_view to_string(ClearAction action) {
  return kClearActions[action];
}

std::string_view to_string(ClearStrategy strategy) {
  return kClearStrategies[strategy];
}

std::string_view to_string(VerifyLevel level) {
  return kVerifyLevels[level];
}

Result<ClearAction> parse_clear_action(std::string_view text) {
  return parse(kClearActions, "clear_action", text);
}

Result<ClearStrategy> parse_clear_strategy(std::string_view text) {
  return parse(kClearStrategies, "clear_strategy", text);
}

Result<VerifyLevel> parse_verify_level(std::string_view text) {
  return parse(kVerifyLevels, "verify", text);
}

std::vector<std::string> names(const Relaxations& relaxations) {
  std::vector<std::string> out;
  if (relaxations.global_data_erased) out.emplace_back("global_data_erased");
  if (relaxations.unreadable_blocks) out.emplace_back("unreadable_blocks");
  if (relaxations.deallocated_value) out.emplace_back("deallocated_value");
  if (relaxations.media_verification) out.emplace_back("media_verification");
  for (std::size_t i = 0; i < kWarningCount; ++i) {
    const auto warning = static_cast<Warning>(i);
    if (relaxations.puts_up_with(warning)) out.emplace_back(to_string(warning));
  }
  return out;
}

Status relax(Relaxations& relaxations, std::string_view name) {
  if (name == "global_data_erased") {
    relaxations.global_data_erased = true;
  } else if (name == "unreadable_blocks") {
    relaxations.unreadable_blocks = true;
  } else if (name == "deallocated_value") {
    relaxations.deallocated_value = true;
  } else if (name == "media_verification") {
    relaxations.media_verification = true;
  } else if (const auto warning = kWarnings.find(name)) {
    relaxations.warnings |= bit_of(*warning);
  } else {
    return Error{Errc::invalid,
                 fmt::format("relax '{}' is not one of global_data_erased, unreadable_blocks, "
                             "deallocated_value, media_verification, {}",
                             name.substr(0, 64), kWarnings.list())};
  }
  return Ok{};
}

}  // namespace reclaim::nvme
