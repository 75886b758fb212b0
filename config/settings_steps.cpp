// [clean] and the [step:NAME] sections: what an operator adds to the plans of his devices.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "config/settings_parts.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/device/order_args.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kFamily = "step:";
constexpr std::size_t kStepsMax = 64;
constexpr std::size_t kArgsBytesMax = std::size_t{16} * 1024;
constexpr std::size_t kAllArgsBytesMax = std::size_t{32} * 1024;  // one plan may have them all
constexpr std::array<std::string_view, 3> kReserved = {"nvme", "pci", "placement"};
constexpr int kErasePriority = 50;

template <typename Range>
bool contains(const Range& range, std::string_view word) {
  return std::find(range.begin(), range.end(), word) != range.end();
}

void check_hold(const Reading& reading, std::string_view group, const OperatorStep& step) {
  if (!step.command.empty()) {
    reading.read.complain(group, "command", " is set, and a hold runs nothing: leave it out");
  }
  if (step.verifies) {
    reading.read.complain(group, "verifies", " is set, and a hold verifies nothing: leave it out");
  }
  if (step.network) {
    reading.read.complain(group, "network", " is set, and a hold runs nothing: leave it out");
  }
}

void check_command(const Reading& reading, std::string_view group, const OperatorStep& step,
                   const Location& at) {
  if (step.command.empty()) {
    reading.problems.push_back(
        {at, fmt::format("[{}] has no command: give the path of the program that does the work, "
                         "or interface = hold for a step that waits for an operator",
                         group)});
  }
  if (reading.read.given(group, "approvals")) {
    reading.read.complain(group, "approvals", " is of a hold only (interface = hold)");
  }
}

void check_args(const Reading& reading, std::string_view group, OperatorStep& step) {
  const auto args = parse_shallow(step.args, kArgsBytesMax);
  if (!args) {
    reading.read.complain(group, "args", ": " + args.error().what);
  } else if (!args->IsObject()) {
    reading.read.complain(group, "args", " must be a JSON object like {\"image\": \"/path\"}");
  } else {
    step.args = json::to_text(*args);
  }
}

// Checks `order_args`. Whoever may name steps in an order could otherwise name files of the host,
// for a command that runs as root.
void check_what_orders_set(const Reading& reading, std::string_view group, OperatorStep& step) {
  if (Status good = check_order_args(step.order_args); !good) {
    reading.read.complain(group, "order_args", ": " + good.error().what);
    step.order_args = "{}";
  }
  if (step.is_hold() && reading.read.given(group, "order_args")) {
    reading.read.complain(group, "order_args", " is set, and a hold is told nothing: leave it out");
  }
  for (const std::string& name : paths_in_order_args(step.order_args, step.args)) {
    reading.warn(group, "order_args",
                 fmt::format(": an order could set '{}' to a path, for a command that runs as "
                             "root: let it name a word, and let the command choose the file",
                             printable_excerpt(name, 40)));
  }
}

StepSection read_step(const Reading& reading, Settings& settings, const IniSection& section) {
  const std::string& group = section.group;
  StepSection out;
  out.at = section.at;
  OperatorStep& step = out.step;
  step.name = group.substr(kFamily.size());
  if (!is_section_name(step.name)) {
    reading.problems.push_back(
        {section.at, fmt::format("[{}]: a step's name has 1 to {} lower-case letters, digits and "
                                 "'_', like [step:reflash]",
                                 printable_excerpt(group), kSectionNameBytesMax)});
  }
  Target target{settings};
  target.step = &step;
  fill_group(reading, kFamily, group, target);
  if (!is_section_name(step.interface) || contains(kReserved, step.interface)) {
    reading.read.refuse(group, "interface", step.interface,
                        "must be one word of lower-case letters, digits and '_', and none of nvme, "
                        "pci and placement, which are Reclaim's own");
  }
  if (!reading.read.given(group, "priority")) {
    reading.problems.push_back(
        {section.at, fmt::format("[{}] has no priority: the highest runs first, 0 is only run when "
                                 "an operator names it",
                                 group)});
  }
  if (step.is_hold()) {
    check_hold(reading, group, step);
  } else {
    check_command(reading, group, step, section.at);
  }
  check_args(reading, group, step);
  check_what_orders_set(reading, group, step);
  if (reading.read.given(group, "devices")) {
    out.devices = parse_device_match(reading.read.string(group, "devices"),
                                     fmt::format("[{}] devices", group),
                                     reading.read.where(group, "devices"), reading.problems);
  }
  return out;
}

// A step that a device_spec entry names, or whose `devices` can match one of its devices.
bool may_be_for(const StepSection& section, const DeviceSpec& spec) {
  return contains(spec.steps, section.step.name) ||
         (section.devices && overlap(*section.devices, spec));
}

bool may_be_for_any(const StepSection& section, const std::vector<DeviceSpec>& specs) {
  return std::any_of(specs.begin(), specs.end(),
                     [&section](const DeviceSpec& spec) { return may_be_for(section, spec); });
}

// True if both may be for one device: each may be, and where both say so by `devices`, those
// overlap.
bool may_meet(const StepSection& a, const StepSection& b, const DeviceSpec& spec) {
  if (!may_be_for(a, spec) || !may_be_for(b, spec)) return false;
  const bool by_name = contains(spec.steps, a.step.name) || contains(spec.steps, b.step.name);
  return by_name || overlap(*a.devices, *b.devices);
}

// Checks a step for drives against the erase, which has its place among the priorities: the highest
// runs first. A step that is for other devices as well is taken for theirs: the class of a device
// tells, on its host.
void check_for_drives(const Reading& reading, const StepSection& section,
                      const std::vector<DeviceSpec>& specs,
                      const std::vector<DeviceSpec>& functions) {
  const OperatorStep& step = section.step;
  const auto drives = std::find_if(specs.begin(), specs.end(), [&section](const DeviceSpec& spec) {
    return may_be_for(section, spec);
  });
  if (drives == specs.end() || may_be_for_any(section, functions)) return;
  const std::string group = fmt::format("{}{}", kFamily, step.name);
  const bool before = step.stage == StepStage::before;
  const bool placed = before ? step.priority > kErasePriority : step.priority < kErasePriority;
  if (step.priority != 0 && !placed) {
    reading.read.complain(
        group, "priority",
        fmt::format(" is {}, and the step may be for drives of the [nvme] device_spec at {}: {} of "
                    "{} (stage = {})",
                    step.priority, to_string(drives->at),
                    before ? "before the erase it is 51 to 1000" : "after it, 1 to 49",
                    kErasePriority, before ? "before" : "after"));
  }
  if (step.driver != kKeepDriver) {
    reading.read.complain(
        group, "driver",
        fmt::format(" is '{}', and the step may be for drives of the [nvme] device_spec at {}, "
                    "whose controller stays open all the while: only keep",
                    step.driver, to_string(drives->at)));
  }
}

// `built_in`: the step of the plan of devices that `specs` list which has its priority, if any; its
// interface: the one that breaks the tie.
void check_against_built_in(const Reading& reading, const StepSection& section,
                            const std::vector<DeviceSpec>& specs, const std::string& built_in,
                            std::string_view its_interface,
                            const std::vector<std::string>& interfaces) {
  const OperatorStep& step = section.step;
  const bool ordered = contains(interfaces, step.interface) && contains(interfaces, its_interface);
  if (step.priority == 0 || ordered || built_in.empty() || !may_be_for_any(section, specs)) return;
  reading.read.complain(
      fmt::format("{}{}", kFamily, step.name), "priority",
      fmt::format(" is {}, as that of {}, so their order is undefined: give the step another one, "
                  "or list {} and {} in [clean] interfaces",
                  step.priority, built_in, step.interface, its_interface));
}

// Nobody has said which of the two goes first: Ironic's conductor does not start then, either.
void check_order(const Reading& reading, const std::vector<StepSection>& steps,
                 const std::vector<DeviceSpec>& specs, const std::vector<std::string>& interfaces) {
  for (std::size_t later = 1; later < steps.size(); ++later) {
    for (std::size_t first = 0; first < later; ++first) {
      const OperatorStep& a = steps[first].step;
      const OperatorStep& b = steps[later].step;
      if (a.priority != b.priority || a.priority == 0) continue;
      const bool ordered = a.interface != b.interface && contains(interfaces, a.interface) &&
                           contains(interfaces, b.interface);
      const bool meet = std::any_of(specs.begin(), specs.end(), [&](const DeviceSpec& spec) {
        return may_meet(steps[first], steps[later], spec);
      });
      if (ordered || !meet) continue;
      reading.read.complain(
          fmt::format("{}{}", kFamily, b.name), "priority",
          fmt::format(" is {}, as that of {}.{}, and both may be for one device, so their order is "
                      "undefined: give each its own, or list both interfaces in [clean] interfaces",
                      b.priority, a.interface, a.name));
    }
  }
}

void check_names_of_specs(const Reading& reading, const std::vector<StepSection>& steps,
                          const std::vector<DeviceSpec>& specs, std::string_view group) {
  for (const DeviceSpec& spec : specs) {
    for (const std::string& name : spec.steps) {
      const bool known = std::any_of(steps.begin(), steps.end(),
                                     [&name](const StepSection& s) { return s.step.name == name; });
      if (known) continue;
      reading.problems.push_back(
          {spec.at, fmt::format("[{}] device_spec: 'steps' names '{}', and there is no section "
                                "[step:{}]",
                                group, printable_excerpt(name), printable_excerpt(name))});
    }
  }
}

// Warns of devices without a verifying step: they are taken out of the pool, and nothing gives them
// back.
void warn_of_unverified(const Reading& reading, const Settings& settings) {
  for (const DeviceSpec& spec : settings.function_specs) {
    const bool verified = std::any_of(
        settings.steps.begin(), settings.steps.end(), [&spec](const StepSection& section) {
          return section.step.verifies && section.step.priority > 0 && may_be_for(section, spec);
        });
    if (verified) continue;
    reading.warnings.push_back(
        {spec.at,
         "[devices] device_spec: no [step:NAME] with verifies = true and a priority above "
         "0 is for its devices: they are reserved and never given back"});
  }
}

}  // namespace

bool is_section_name(std::string_view text) {
  return !text.empty() && text.size() <= kSectionNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

void read_steps(const Reading& reading, Settings& settings) {
  fill_group(reading, "clean", settings);
  std::vector<IniSection> sections = reading.read.family(kFamily);
  if (sections.size() > kStepsMax) {
    reading.problems.push_back(
        {sections[kStepsMax].at, fmt::format("more than {} [step:NAME] sections", kStepsMax)});
    sections.resize(kStepsMax);
  }
  std::size_t args_bytes = 0;
  for (const IniSection& section : sections) {
    settings.steps.push_back(read_step(reading, settings, section));
    const OperatorStep& step = settings.steps.back().step;
    args_bytes += step.args.size() + step.order_args.size();
    if (args_bytes > kAllArgsBytesMax) {
      reading.read.complain(section.group, "args",
                            fmt::format(": with it the [step:NAME] sections have more than {} "
                                        "bytes of args and order_args together: give long ones "
                                        "in a file",
                                        kAllArgsBytesMax));
      args_bytes = 0;
    }
  }
  const std::vector<DeviceSpec> drives = with_policy_steps(settings, settings.device_specs);
  const std::vector<DeviceSpec> functions = with_policy_steps(settings, settings.function_specs);
  const std::vector<std::string>& interfaces = settings.conductor.clean_interfaces;
  check_names_of_specs(reading, settings.steps, settings.device_specs, "nvme");
  check_names_of_specs(reading, settings.steps, settings.function_specs, "devices");
  for (const StepSection& section : settings.steps) {
    const int priority = section.step.priority;
    check_against_built_in(reading, section, drives,
                           built_in_step_at(priority, settings.conductor.step_priorities),
                           kNvmeInterface, interfaces);
    check_against_built_in(
        reading, section, functions,
        built_in_function_step_at(priority, settings.conductor.function_step_priorities),
        kPciInterface, interfaces);
    check_for_drives(reading, section, drives, functions);
    if (!may_be_for_any(section, drives) && !may_be_for_any(section, functions)) {
      reading.warnings.push_back(
          {section.at, fmt::format("[{}{}] is for no device: name it in the key steps of a "
                                   "device_spec entry or of a policy, or give it devices",
                                   kFamily, section.step.name)});
    }
  }
  check_order(reading, settings.steps, drives, interfaces);
  check_order(reading, settings.steps, functions, interfaces);
  warn_of_unverified(reading, settings);
}

std::vector<OperatorStep> steps_for(const std::vector<StepSection>& steps, const DeviceSpec& spec,
                                    std::uint16_t vendor_id, std::uint16_t product_id,
                                    const PciAddress& address) {
  std::vector<OperatorStep> out;
  for (const StepSection& section : steps) {
    const bool by_name = contains(spec.steps, section.step.name);
    const bool by_match =
        section.devices && matches(*section.devices, vendor_id, product_id, address);
    if (by_name || by_match) out.push_back(section.step);
  }
  return out;
}

}  // namespace reclaim::config
