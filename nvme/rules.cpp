// Names of what device_spec may say.
#include "nvme/rules.h"

#include <fmt/core.h>

namespace reclaim::nvme {

std::string_view to_string(ClearAction action) {
  switch (action) {
    case ClearAction::auto_:
      return "auto";
    case ClearAction::sanitize:
      return "sanitize";
    case ClearAction::zero:
      return "zero";
    case ClearAction::format:
      return "format";
  }
  return "auto";
}

std::string_view to_string(ClearStrategy strategy) {
  switch (strategy) {
    case ClearStrategy::auto_:
      return "auto";
    case ClearStrategy::crypto:
      return "crypto";
    case ClearStrategy::block:
      return "block";
  }
  return "auto";
}

Result<ClearAction> parse_clear_action(std::string_view text) {
  for (const ClearAction action :
       {ClearAction::auto_, ClearAction::sanitize, ClearAction::zero, ClearAction::format}) {
    if (text == to_string(action)) return action;
  }
  return Error{Errc::invalid,
               fmt::format("clear_action '{}' is not one of auto, sanitize, zero, format",
                           text.substr(0, 64))};
}

Result<ClearStrategy> parse_clear_strategy(std::string_view text) {
  for (const ClearStrategy strategy :
       {ClearStrategy::auto_, ClearStrategy::crypto, ClearStrategy::block}) {
    if (text == to_string(strategy)) return strategy;
  }
  return Error{Errc::invalid, fmt::format("clear_strategy '{}' is not one of auto, crypto, block",
                                          text.substr(0, 64))};
}

std::string_view to_string(VerifyLevel level) {
  switch (level) {
    case VerifyLevel::log:
      return "log";
    case VerifyLevel::sample:
      return "sample";
    case VerifyLevel::nist:
      return "nist";
    case VerifyLevel::full:
      return "full";
  }
  return "sample";
}

Result<VerifyLevel> parse_verify_level(std::string_view text) {
  for (const VerifyLevel level :
       {VerifyLevel::log, VerifyLevel::sample, VerifyLevel::nist, VerifyLevel::full}) {
    if (text == to_string(level)) return level;
  }
  return Error{Errc::invalid, fmt::format("verify '{}' is not one of log, sample, nist, full",
                                          text.substr(0, 64))};
}

std::vector<std::string> names(const Relaxations& relaxations) {
  std::vector<std::string> out;
  if (relaxations.global_data_erased) out.emplace_back("global_data_erased");
  if (relaxations.unreadable_blocks) out.emplace_back("unreadable_blocks");
  if (relaxations.deallocated_value) out.emplace_back("deallocated_value");
  return out;
}

Status relax(Relaxations& relaxations, std::string_view name) {
  if (name == "global_data_erased") {
    relaxations.global_data_erased = true;
  } else if (name == "unreadable_blocks") {
    relaxations.unreadable_blocks = true;
  } else if (name == "deallocated_value") {
    relaxations.deallocated_value = true;
  } else {
    return Error{Errc::invalid,
                 fmt::format("relax '{}' is not one of global_data_erased, unreadable_blocks, "
                             "deallocated_value",
                             name.substr(0, 64))};
  }
  return Ok{};
}

}  // namespace reclaim::nvme
