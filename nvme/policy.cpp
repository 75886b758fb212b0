#include "nvme/policy.h"

#include <fmt/core.h>

namespace reclaim::nvme {
namespace {

Error cannot(const Policy& policy, std::string_view lacks) {
  return Error{Errc::refused,
               fmt::format("clear_action={} with clear_strategy={} cannot be satisfied: the drive "
                           "supports no {}; choose another policy in device_spec or replace it",
                           to_string(policy.action), to_string(policy.strategy), lacks)};
}

Error not_yet(const Capabilities& capabilities) {
  return Error{
      Errc::refused,
      fmt::format("not supported by this version yet: the policy and the drive's "
                  "capabilities ask for {}; drives with crypto or block sanitize can be "
                  "cleaned",
                  capabilities.write_zeroes() ? "Write Zeroes" : "overwriting by the host")};
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
  if (policy.action == ClearAction::zero) return not_yet(capabilities);

  const bool crypto_allowed = policy.strategy != ClearStrategy::block;
  const bool block_allowed = policy.strategy != ClearStrategy::crypto;
  if (crypto_allowed && capabilities.crypto_erase()) return EraseMethod::sanitize_crypto;
  if (block_allowed && capabilities.block_erase()) return EraseMethod::sanitize_block;

  if (policy.strategy == ClearStrategy::crypto) return cannot(policy, "crypto erase sanitize");
  if (policy.action == ClearAction::sanitize) {
    return cannot(policy, policy.strategy == ClearStrategy::block ? "block erase sanitize"
                                                                  : "crypto or block sanitize");
  }
  return not_yet(capabilities);
}

}  // namespace reclaim::nvme
