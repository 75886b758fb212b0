// A cleaning policy of devices in some role, as a [policy:NAME] section of the configuration has
// it, and what became of those that are for a device. Passive data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/operator_step.h"
#include "nvme/rules.h"

namespace reclaim {

// A provider whose trait in Placement is this and GOLD has the section [policy:gold].
inline constexpr std::string_view kPolicyTraitPrefix = "CUSTOM_RECLAIM_";

// A field that a section does not say has no value: it has no say in that.
struct RolePolicy {
  std::string name;  // lower-case letters, digits, '_'
  std::optional<nvme::ClearAction> action;
  std::optional<nvme::ClearStrategy> strategy;
  std::optional<nvme::VerifyLevel> verify;
  std::optional<nvme::Relaxations> relaxed;
  std::optional<std::uint8_t> percentage_used_max;
  std::optional<std::uint64_t> media_errors_delta_max;
  std::optional<std::uint64_t> zero_bytes_per_s_max;
  std::optional<std::int64_t> cleanup_timeout_ms;
  std::optional<bool> manual;
  std::vector<OperatorStep> steps;
  friend bool operator==(const RolePolicy&, const RolePolicy&) = default;
};

// All sections of the configuration.
using RolePolicies = std::shared_ptr<const std::vector<RolePolicy>>;

// One that is for a device, and what says so: "gold", "tag gold".
struct ChosenPolicy {
  std::string name;
  std::string by;
  friend bool operator==(const ChosenPolicy&, const ChosenPolicy&) = default;
};

// The origin of a device's policy.
struct PolicyOrigin {
  std::string entry;                 // where the device_spec entry stands: "reclaim.conf:12"
  std::vector<ChosenPolicy> chosen;  // in the order in which they were looked at
  // The policy's name, by the field that it made stricter than what was there before.
  std::map<std::string, std::string> raised_by;
  // Chosen, and there is no such section: the device must not be cleaned by what is known.
  std::vector<ChosenPolicy> unknown;
};

}  // namespace reclaim
