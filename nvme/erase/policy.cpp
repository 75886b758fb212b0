#include "nvme/erase/policy.h"

#include <fmt/core.h>

namespace reclaim::nvme {
namespace {

Error cannot(const Policy& policy, std::string_view lacks) {
  return Error{Errc::refused,
               fmt::format("clear_action={} with clear_strategy={} cannot be satisfied: the drive "
                           "supports no {}; choose another policy in device_spec or replace it",
                           to_string(policy.action), to_string(policy.strategy), lacks)};
}

// The specification's resolution chain within the zero method.
EraseMethod zero_method(const Capabilities& capabilities) {
  return capabilities.write_zeroes() ? EraseMethod::write_zeroes : EraseMethod::overwrite;
}

Result<EraseMethod> format_method(const Policy& policy, const Capabilities& capabilities) {
  if (!capabilities.format()) return cannot(policy, "Format NVM");
  if (policy.strategy != ClearStrategy::block && capabilities.format_crypto()) {
    return EraseMethod::format_crypto;
  }
  if (policy.strategy == ClearStrategy::crypto) return cannot(policy, "crypto erase by Format NVM");
  return EraseMethod::format_user_data;
}

}  // namespace

Status check_policy(const Policy& policy) {
  if (policy.action == ClearAction::zero && policy.strategy == ClearStrategy::crypto) {
    return Error{Errc::invalid,
                 "clear_action=zero with clear_strategy=crypto is impossible: zeroing is no "
                 "cryptographic erase; use clear_strategy=auto or block, or clear_action=sanitize"};
  }
  return Ok{};
}

Result<EraseMethod> choose_method(const Policy& policy, const Capabilities& capabilities) {
  if (auto sound = check_policy(policy); !sound) return std::move(sound).error();
  if (policy.action == ClearAction::zero) return zero_method(capabilities);
  if (policy.action == ClearAction::format) return format_method(policy, capabilities);

  const bool crypto_allowed = policy.strategy != ClearStrategy::block;
  const bool block_allowed = policy.strategy != ClearStrategy::crypto;
  if (crypto_allowed && capabilities.crypto_erase()) return EraseMethod::sanitize_crypto;
  if (block_allowed && capabilities.block_erase()) return EraseMethod::sanitize_block;

  if (policy.strategy == ClearStrategy::crypto) return cannot(policy, "crypto erase sanitize");
  if (policy.action == ClearAction::sanitize) {
    return cannot(policy, policy.strategy == ClearStrategy::block ? "block erase sanitize"
                                                                  : "crypto or block sanitize");
  }
  return zero_method(capabilities);
}

Status check_verification(const Rules& rules, EraseMethod method) {
  if (rules.verify != VerifyLevel::log) return Ok{};
  if (!is_sanitize(method)) {
    return Error{Errc::invalid,
                 fmt::format("verify=log needs a sanitize, whose log can be believed; {} has none: "
                             "use verify=sample, nist or full",
                             to_string(method))};
  }
  if (rules.relaxed.global_data_erased) {
    return Error{Errc::invalid,
                 "verify=log believes Global Data Erased, so that it cannot be relaxed: use "
                 "verify=sample, nist or full"};
  }
  return Ok{};
}

std::vector<std::string> traits(const Capabilities& capabilities) {
  std::vector<std::string> out;
  if (capabilities.crypto_erase()) out.emplace_back("HW_NVME_CES");
  if (capabilities.block_erase()) out.emplace_back("HW_NVME_BES");
  if (capabilities.write_zeroes()) out.emplace_back("HW_NVME_WZS");
  return out;
}

}  // namespace reclaim::nvme
