#include "handlers/survey/strictest.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "state/base/check.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

using nvme::ClearAction;
using nvme::ClearStrategy;
using nvme::VerifyLevel;

// The order of strictness, weakest first.
//
// Actions by the class of NIST SP 800-88 that they come to on any drive (nvme/erase/policy.cpp):
// sanitize purges or refuses; auto purges where the drive can and clears by zeroing where not; zero
// clears, by the host's own writes; format clears, by the drive's word alone.
constexpr std::array kActions{ClearAction::format, ClearAction::zero, ClearAction::auto_,
                              ClearAction::sanitize};
// Either purges. A block erase ends the data themselves; after a crypto erase they are there, and
// unreadable for as long as the cipher holds.
constexpr std::array kStrategies{ClearStrategy::auto_, ClearStrategy::crypto, ClearStrategy::block};
constexpr std::array kLevels{VerifyLevel::log, VerifyLevel::sample, VerifyLevel::nist,
                             VerifyLevel::full};

static_assert(kActions.size() == static_cast<std::size_t>(ClearAction::format) + 1);
static_assert(kStrategies.size() == static_cast<std::size_t>(ClearStrategy::block) + 1);
static_assert(kLevels.size() == static_cast<std::size_t>(VerifyLevel::full) + 1);

template <typename T, std::size_t N>
T later(const std::array<T, N>& order, T a, T b) {
  const auto* const first = std::find(order.begin(), order.end(), a);
  const auto* const second = std::find(order.begin(), order.end(), b);
  CHECK(first != order.end() && second != order.end());
  return std::max(first, second) == first ? a : b;
}

// Zeroing is no cryptographic erase: both are met by a sanitize only.
nvme::Policy possible(nvme::Policy policy) {
  if (!nvme::check_policy(policy)) policy.action = ClearAction::sanitize;
  return policy;
}

std::string said_of(const nvme::Relaxations& relaxed) {
  return fmt::format("{}", fmt::join(nvme::names(relaxed), "+"));
}

// Puts one section's word into the policy, and notes what that made stricter.
class Raising {
 public:
  Raising(DevicePolicy& policy, const RolePolicy& role) : policy_(policy), role_(role) {}

  void run() && {
    nvme::Rules& rules = policy_.rules;
    clearing();
    field("verify", rules.verify,
          role_.verify ? strictest(rules.verify, *role_.verify) : rules.verify);
    field("relax", rules.relaxed,
          role_.relaxed ? strictest(rules.relaxed, *role_.relaxed) : rules.relaxed);
    const nvme::HealthLimits health = strictest(
        rules.health, {role_.percentage_used_max.value_or(rules.health.percentage_used_max),
                       role_.media_errors_delta_max.value_or(rules.health.media_errors_delta_max),
                       rules.health.judged});
    field("percentage_used_max", rules.health.percentage_used_max, health.percentage_used_max);
    field("media_errors_max", rules.health.media_errors_delta_max, health.media_errors_delta_max);
    field("zero_rate", rules.zero_bytes_per_s_max,
          strictest_rate(rules.zero_bytes_per_s_max, role_.zero_bytes_per_s_max.value_or(0)));
    if (role_.cleanup_timeout_ms) {
      const std::int64_t before = policy_.cleanup_timeout_ms.value_or(*role_.cleanup_timeout_ms);
      field("cleanup_timeout", policy_.cleanup_timeout_ms,
            std::optional(strictest_timeout_ms(before, *role_.cleanup_timeout_ms)));
    }
    field("clean", policy_.manual, policy_.manual || role_.manual.value_or(false));
    field("steps", policy_.steps, strictest(policy_.steps, role_.steps));
  }

 private:
  void clearing() {
    nvme::Rules& rules = policy_.rules;
    const nvme::Policy now{rules.action, rules.strategy};
    const nvme::Policy then = strictest(
        now, {role_.action.value_or(rules.action), role_.strategy.value_or(rules.strategy)});
    field("clear_action", rules.action, then.action);
    field("clear_strategy", rules.strategy, then.strategy);
  }

  template <typename T>
  void field(const char* key, T& value, const T& raised) {
    if (value == raised) return;
    value = raised;
    policy_.origin.raised_by[key] = role_.name;
  }

  DevicePolicy& policy_;
  const RolePolicy& role_;
};

std::string value_of(const DevicePolicy& policy, std::string_view key) {
  const nvme::Rules& rules = policy.rules;
  if (key == "clear_action") return std::string(to_string(rules.action));
  if (key == "clear_strategy") return std::string(to_string(rules.strategy));
  if (key == "verify") return std::string(to_string(rules.verify));
  if (key == "relax") return said_of(rules.relaxed).empty() ? "nothing" : said_of(rules.relaxed);
  if (key == "percentage_used_max") return std::to_string(rules.health.percentage_used_max);
  if (key == "media_errors_max") return std::to_string(rules.health.media_errors_delta_max);
  if (key == "zero_rate") return std::to_string(rules.zero_bytes_per_s_max);
  if (key == "cleanup_timeout") {
    constexpr std::int64_t kMsPerS = 1000;
    return std::to_string(policy.cleanup_timeout_ms.value_or(0) / kMsPerS);
  }
  if (key == "clean") return policy.manual ? "manual" : "auto";
  CHECK(key == "steps");
  std::vector<std::string> names;
  for (const OperatorStep& step : policy.steps) names.push_back(step.name);
  return fmt::format("{}", fmt::join(names, "+"));
}

bool is_in(const std::vector<ChosenPolicy>& chosen, const ChosenPolicy& one) {
  return std::find(chosen.begin(), chosen.end(), one) != chosen.end();
}

}  // namespace

nvme::Policy strictest(nvme::Policy a, nvme::Policy b) {
  a = possible(a);
  b = possible(b);
  return {a.strategy == b.strategy ? later(kActions, a.action, b.action) : ClearAction::sanitize,
          later(kStrategies, a.strategy, b.strategy)};
}

nvme::VerifyLevel strictest(nvme::VerifyLevel a, nvme::VerifyLevel b) {
  return later(kLevels, a, b);
}

nvme::Relaxations strictest(nvme::Relaxations a, nvme::Relaxations b) {
  return {a.global_data_erased && b.global_data_erased, a.unreadable_blocks && b.unreadable_blocks,
          a.deallocated_value && b.deallocated_value, a.media_verification && b.media_verification,
          static_cast<std::uint8_t>(a.warnings & b.warnings)};
}

nvme::HealthLimits strictest(nvme::HealthLimits a, nvme::HealthLimits b) {
  return {std::min(a.percentage_used_max, b.percentage_used_max),
          std::min(a.media_errors_delta_max, b.media_errors_delta_max), a.judged || b.judged};
}

std::uint64_t strictest_rate(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

std::int64_t strictest_timeout_ms(std::int64_t a, std::int64_t b) {
  return std::max(a, b);
}

std::vector<OperatorStep> strictest(std::vector<OperatorStep> a,
                                    const std::vector<OperatorStep>& b) {
  for (const OperatorStep& step : b) {
    const bool there = std::any_of(a.begin(), a.end(),
                                   [&step](const OperatorStep& s) { return s.name == step.name; });
    if (!there) a.push_back(step);
  }
  return a;
}

DevicePolicy raised(DevicePolicy policy, const std::vector<ChosenPolicy>& chosen) {
  static const std::vector<RolePolicy> kNone;
  const RolePolicies known = policy.roles;
  const std::vector<RolePolicy>& roles = known ? *known : kNone;
  PolicyOrigin& origin = policy.origin;
  for (const ChosenPolicy& one : chosen) {
    const auto role = std::find_if(roles.begin(), roles.end(),
                                   [&one](const RolePolicy& r) { return r.name == one.name; });
    std::vector<ChosenPolicy>& kept = role == roles.end() ? origin.unknown : origin.chosen;
    if (!is_in(kept, one)) kept.push_back(one);
    if (role != roles.end()) Raising(policy, *role).run();
  }
  return policy;
}

std::string policy_of_trait(std::string_view trait) {
  CHECK(trait.starts_with(kPolicyTraitPrefix));
  std::string name(trait.substr(kPolicyTraitPrefix.size()));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return lower(c); });
  return name;
}

DevicePolicy raised_by_traits(DevicePolicy policy, const std::vector<std::string>& traits) {
  std::vector<ChosenPolicy> chosen;
  chosen.reserve(traits.size());
  for (const std::string& trait : traits) {
    chosen.push_back({policy_of_trait(trait), "trait " + trait});
  }
  return raised(std::move(policy), chosen);
}

DevicePolicy raised_by_names(DevicePolicy policy, const std::vector<std::string>& names) {
  const std::vector<std::string> already = chosen_names(policy);
  std::vector<ChosenPolicy> chosen;
  for (const std::string& name : names) {
    if (std::find(already.begin(), already.end(), name) != already.end()) continue;
    chosen.push_back({name, "the last survey"});
  }
  return raised(std::move(policy), chosen);
}

std::vector<std::string> chosen_names(const DevicePolicy& policy) {
  std::vector<std::string> names;
  for (const auto* list : {&policy.origin.chosen, &policy.origin.unknown}) {
    for (const ChosenPolicy& one : *list) {
      if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
    }
  }
  return names;
}

std::string why_unknown(const DevicePolicy& policy) {
  if (policy.origin.unknown.empty()) return {};
  const ChosenPolicy& one = policy.origin.unknown.front();
  return fmt::format(
      "there is no section [policy:{}], which its provider asks for ({}): add the section, or "
      "remove the trait from the provider in Placement",
      one.name, one.by);
}

std::string describe_origin(const DevicePolicy& policy) {
  const PolicyOrigin& origin = policy.origin;
  std::string out = "device_spec at " + origin.entry;
  for (const ChosenPolicy& one : origin.chosen) {
    std::vector<std::string> fields;
    for (const auto& [key, name] : origin.raised_by) {
      if (name == one.name) fields.push_back(fmt::format("{}={}", key, value_of(policy, key)));
    }
    out += fmt::format(
        "; {} (by {}): {}", one.name, one.by,
        fields.empty() ? "nothing stricter" : fmt::format("{}", fmt::join(fields, ", ")));
  }
  for (const ChosenPolicy& one : origin.unknown) {
    out += fmt::format("; {} (by {}): there is no such section", one.name, one.by);
  }
  return out;
}

}  // namespace reclaim
