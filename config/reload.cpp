#include "config/reload.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kValueBytesMax = 160;
constexpr std::array<std::string_view, 6> kOptions = {"[nvme] device_spec",
                                                      "[nvme] verify",
                                                      "[nvme] clean_step_priority_override",
                                                      "[devices] device_spec",
                                                      "[pci] passthrough_whitelist",
                                                      "[devices] clean_step_priority_override"};
constexpr std::array<std::string_view, 3> kGroups = {"[clean] ", "[step:", "[policy:"};
// The options whose values are not shown: what a step is told may be a password.
constexpr std::string_view kArgs = "] args";

bool can_change(std::string_view name) {
  return std::find(kOptions.begin(), kOptions.end(), name) != kOptions.end() ||
         std::any_of(kGroups.begin(), kGroups.end(),
                     [name](std::string_view group) { return name.starts_with(group); });
}

const std::string* text_of(const Settings& settings, const std::string& name) {
  const auto found = settings.texts.find(name);
  return found == settings.texts.end() ? nullptr : &found->second;
}

std::string line_of(const std::string& name, const std::string* before, const std::string* now) {
  const auto shown = [&name](const std::string* text) {
    if (text == nullptr) return std::string("not set");
    return name.ends_with(kArgs) ? std::string("set") : printable_excerpt(*text, kValueBytesMax);
  };
  return fmt::format("{}: {}, was: {}", name, shown(now), shown(before));
}

}  // namespace

Changes changes(const Settings& in_force, const Settings& read) {
  std::set<std::string> names;
  for (const Settings* settings : {&in_force, &read}) {
    for (const auto& [name, text] : settings->texts) names.insert(name);
  }
  Changes out;
  for (const std::string& name : names) {
    const std::string* before = text_of(in_force, name);
    const std::string* now = text_of(read, name);
    if (before != nullptr && now != nullptr ? *before == *now : before == now) continue;
    if (can_change(name)) {
      out.taken.push_back(line_of(name, before, now));
    } else {
      out.later.push_back(name);
    }
  }
  // Placement is asked for them, or not, by a client that is made at the start.
  if (in_force.policies.empty() && !read.policies.empty()) {
    out.later.emplace_back("[policy:NAME], where a trait of a provider chooses it,");
  }
  return out;
}

Settings with_changes(Settings in_force, const Settings& read) {
  Settings out = std::move(in_force);
  out.device_specs = read.device_specs;
  out.function_specs = read.function_specs;
  out.passthrough_whitelist = read.passthrough_whitelist;
  out.steps = read.steps;
  out.policies = read.policies;
  out.verify = read.verify;
  out.conductor.clean_automated = read.conductor.clean_automated;
  out.conductor.clean_interfaces = read.conductor.clean_interfaces;
  out.conductor.step_priorities = read.conductor.step_priorities;
  out.conductor.function_step_priorities = read.conductor.function_step_priorities;
  std::erase_if(out.texts, [](const auto& each) { return can_change(each.first); });
  for (const auto& [name, text] : read.texts) {
    if (can_change(name)) out.texts[name] = text;
  }
  return out;
}

}  // namespace reclaim::config
