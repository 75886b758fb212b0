// The [policy:NAME] sections: how devices in some role are cleaned, and which entries choose them.
#include <fmt/core.h>

#include <algorithm>

#include "config/device_spec/clean_rules.h"
#include "config/settings_parts.h"
#include "handlers/survey/strictest.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kFamily = "policy:";
constexpr std::size_t kPoliciesMax = 64;
constexpr std::string_view kPolicyTag = "policy";  // {"policy": "gold"}: it has to be there
constexpr std::int64_t kMsPerSecond = 1000;

// An option's text as an entry has it in JSON.
rapidjson::Value as_json(std::string_view key, const std::string& text,
                         rapidjson::Document::AllocatorType& allocator) {
  const auto word = [&allocator](const std::string& from) {
    return rapidjson::Value(from.data(), static_cast<rapidjson::SizeType>(from.size()), allocator);
  };
  if (key == "relax") {
    rapidjson::Value list(rapidjson::kArrayType);
    for (const std::string& item : split_list(text)) list.PushBack(word(item), allocator);
    return list;
  }
  const bool number =
      key == "percentage_used_max" || key == "media_errors_max" || key == "cleanup_timeout";
  const auto parsed = parse_number<std::uint64_t>(text);
  return number && parsed ? rapidjson::Value(*parsed) : word(text);
}

// Takes the rule `key` from what the section says, and no other.
void take_rule(std::string_view key, const DeviceSpec& said, RolePolicy& policy) {
  const nvme::Rules& rules = said.rules;
  if (key == "clear_action") policy.action = rules.action;
  if (key == "clear_strategy") policy.strategy = rules.strategy;
  if (key == "verify") policy.verify = said.verify;
  if (key == "relax") policy.relaxed = rules.relaxed;
  if (key == "percentage_used_max") policy.percentage_used_max = rules.health.percentage_used_max;
  if (key == "media_errors_max") {
    policy.media_errors_delta_max = rules.health.media_errors_delta_max;
  }
  if (key == "zero_rate") policy.zero_bytes_per_s_max = rules.zero_bytes_per_s_max;
  if (key == "cleanup_timeout") {
    policy.cleanup_timeout_ms = said.cleanup_timeout_s.value_or(0) * kMsPerSecond;
  }
}

void read_start(const Reading& reading, const std::string& group, RolePolicy& policy) {
  if (!reading.read.given(group, "clean")) return;
  const std::string word = reading.read.string(group, "clean");
  if (word != "auto" && word != "manual") {
    reading.read.refuse(group, "clean", word, "is neither auto nor manual");
  }
  policy.manual = word == "manual";
}

PolicySection read_policy(const Reading& reading, const IniSection& section) {
  const std::string& group = section.group;
  PolicySection out;
  out.at = section.at;
  out.policy.name = group.substr(kFamily.size());
  if (!is_section_name(out.policy.name)) {
    reading.problems.push_back(
        {section.at, fmt::format("[{}]: a policy's name has 1 to {} lower-case letters, digits and "
                                 "'_', like [policy:gold]",
                                 printable_excerpt(group), kSectionNameBytesMax)});
  }
  DeviceSpec said;
  rapidjson::Document document;
  for (const std::string_view key : kRuleKeys) {
    // The expected firmware depends on the model, and so is the entry's alone.
    if (key == "firmware" || !reading.read.given(group, key)) continue;
    const std::string text(strip(reading.read.string(group, key)));
    const Status taken = read_rule(key, as_json(key, text, document.GetAllocator()), said);
    if (!taken.ok()) reading.read.complain(group, key, ": " + taken.error().what);
    take_rule(key, said, out.policy);
  }
  const Status together = settle_rules(said, nvme::VerifyLevel::sample);
  if (!together.ok()) {
    reading.problems.push_back({section.at, fmt::format("[{}]: {}", group, together.error().what)});
  }
  read_start(reading, group, out.policy);
  out.steps = split_list(reading.read.string(group, "steps"));
  return out;
}

// One that names a section, which then has to be there; any other is just a tag.
bool is_explicit(const DeviceTag& tag) {
  return tag.name == kPolicyTag && !tag.value.empty();
}

bool is_known(const std::vector<RolePolicy>& roles, std::string_view name) {
  return std::any_of(roles.begin(), roles.end(),
                     [&name](const RolePolicy& role) { return role.name == name; });
}

bool has_section(const Settings& settings, std::string_view name) {
  return std::any_of(settings.policies.begin(), settings.policies.end(),
                     [&name](const PolicySection& p) { return p.policy.name == name; });
}

void check_tags(const Reading& reading, const Settings& settings,
                const std::vector<DeviceSpec>& specs, std::string_view group) {
  for (const DeviceSpec& spec : specs) {
    for (const DeviceTag& tag : spec.tags) {
      if (!is_explicit(tag) || has_section(settings, tag.value)) continue;
      reading.problems.push_back(
          {spec.at,
           fmt::format("[{}] device_spec: the tag 'policy' names '{}', and there is no section "
                       "[policy:{}]",
                       group, printable_excerpt(tag.value), printable_excerpt(tag.value))});
    }
  }
}

}  // namespace

void read_policies(const Reading& reading, Settings& settings) {
  std::vector<IniSection> sections = reading.read.family(kFamily);
  if (sections.size() > kPoliciesMax) {
    reading.problems.push_back({sections[kPoliciesMax].at,
                                fmt::format("more than {} [policy:NAME] sections", kPoliciesMax)});
    sections.resize(kPoliciesMax);
  }
  for (const IniSection& section : sections) {
    settings.policies.push_back(read_policy(reading, section));
  }
  check_tags(reading, settings, settings.device_specs, "nvme");
  check_tags(reading, settings, settings.function_specs, "devices");
}

void check_policy_steps(const Reading& reading, const Settings& settings) {
  for (const PolicySection& section : settings.policies) {
    for (const std::string& name : section.steps) {
      const bool known =
          std::any_of(settings.steps.begin(), settings.steps.end(),
                      [&name](const StepSection& step) { return step.step.name == name; });
      if (known) continue;
      reading.read.complain(fmt::format("{}{}", kFamily, section.policy.name), "steps",
                            fmt::format(" names '{}', and there is no section [step:{}]",
                                        printable_excerpt(name), printable_excerpt(name)));
    }
  }
}

std::vector<DeviceSpec> with_policy_steps(const Settings& settings, std::vector<DeviceSpec> specs) {
  for (DeviceSpec& spec : specs) {
    for (const PolicySection& section : settings.policies) {
      spec.steps.insert(spec.steps.end(), section.steps.begin(), section.steps.end());
    }
  }
  return specs;
}

DevicePolicy policy_by_role(DevicePolicy of_entry, const DeviceSpec& spec,
                            const RolePolicies& roles, std::int64_t timeout_ms) {
  of_entry.roles = roles;
  of_entry.origin.entry = to_string(spec.at);
  std::vector<ChosenPolicy> chosen;
  for (const DeviceTag& tag : spec.tags) {
    of_entry.tags.push_back(tag.value.empty() ? tag.name
                                              : fmt::format("{}={}", tag.name, tag.value));
    const std::string& name = is_explicit(tag) ? tag.value : tag.name;
    if (roles && is_known(*roles, name)) chosen.push_back({name, "tag " + of_entry.tags.back()});
  }
  // The longer of two times counts, and this is the entry's.
  if (roles && !of_entry.cleanup_timeout_ms) of_entry.cleanup_timeout_ms = timeout_ms;
  return raised(std::move(of_entry), chosen);
}

RolePolicies role_policies(const Settings& settings) {
  if (settings.policies.empty()) return nullptr;
  std::vector<RolePolicy> out;
  for (const PolicySection& section : settings.policies) {
    RolePolicy policy = section.policy;
    for (const std::string& name : section.steps) {
      const auto step = std::find_if(settings.steps.begin(), settings.steps.end(),
                                     [&name](const StepSection& s) { return s.step.name == name; });
      if (step != settings.steps.end()) policy.steps.push_back(step->step);
    }
    out.push_back(std::move(policy));
  }
  return std::make_shared<const std::vector<RolePolicy>>(std::move(out));
}

}  // namespace reclaim::config
