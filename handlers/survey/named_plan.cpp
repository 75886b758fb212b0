#include "handlers/survey/named_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "state/device/named_steps.h"
#include "state/device/order_args.h"

namespace reclaim {
namespace {

std::vector<CleanStep> built_in(const DevicePolicy& policy, const ConductorOptions& options,
                                bool by_steps) {
  return by_steps ? built_in_function_steps(options) : built_in_steps(policy, options);
}

// The named step as the plan has it. It is one of those that are offered.
CleanStep defined_today(const CleanStep& named, const DevicePolicy& policy,
                        const std::vector<CleanStep>& built_ins) {
  const auto own =
      std::find_if(policy.steps.begin(), policy.steps.end(), [&named](const OperatorStep& step) {
        return step.interface == named.interface && step.name == named.step;
      });
  CleanStep out = named;
  if (own != policy.steps.end()) {
    OperatorStep given = *own;
    given.args = merged_args(own->args, named.args);
    out = as_plan_step(given);
  } else {
    const auto ours =
        std::find_if(built_ins.begin(), built_ins.end(), [&named](const CleanStep& step) {
          return step.interface == named.interface && step.step == named.step;
        });
    if (ours != built_ins.end()) out = *ours;
  }
  out.by_hand = true;
  return out;
}

}  // namespace

std::vector<CleanStep> offered_steps(const DevicePolicy& policy, const ConductorOptions& options,
                                     bool by_steps) {
  std::vector<CleanStep> offered = built_in(policy, options, by_steps);
  for (CleanStep& step : offered) step.args = "{}";
  for (const OperatorStep& step : policy.steps) {
    offered.push_back({step.interface, step.name, step.priority,
                       step.order_args.empty() ? "{}" : step.order_args});
  }
  return offered;
}

Result<std::vector<CleanStep>> named_part(const std::vector<CleanStep>& named,
                                          const DevicePolicy& policy,
                                          const ConductorOptions& options, bool by_steps) {
  if (Status known = check_named_steps(named, offered_steps(policy, options, by_steps)); !known) {
    return known.error();
  }
  const std::vector<CleanStep> built_ins = built_in(policy, options, by_steps);
  std::vector<CleanStep> out;
  out.reserve(named.size());
  for (const CleanStep& each : named) out.push_back(defined_today(each, policy, built_ins));
  if (const std::size_t bytes = encode_plan(out).size(); bytes > kNamedPlanBytesMax) {
    return Error{Errc::limit, fmt::format("they have {} bytes with their configured args, {} are "
                                          "allowed: name fewer, or give long args in a file",
                                          bytes, kNamedPlanBytesMax)};
  }
  return out;
}

Result<std::vector<CleanStep>> with_named_steps(const Record& record, std::vector<CleanStep> plan,
                                                const DevicePolicy& policy,
                                                const ConductorOptions& options) {
  if (record.steps_ordered.empty()) return plan;
  auto out = named_part(record.steps_ordered, policy, options, record.by_steps);
  if (!out) {
    return Error{Errc::refused,
                 fmt::format("of the clean steps that an operator named, {}: define it again and "
                             "reload, or `reclaim device abort` it and order `clean` again",
                             out.error().what)};
  }
  for (std::size_t place = 0; place < std::min(out->size(), record.plan.size()); ++place) {
    CleanStep& step = (*out)[place];
    if (without_digest(record.plan[place]) == step) step = record.plan[place];
  }
  out->insert(out->end(), plan.begin(), plan.end());
  return out;
}

std::vector<CleanStep> behind_named_steps(const std::vector<CleanStep>& before,
                                          const std::vector<CleanStep>& plan) {
  std::vector<CleanStep> out;
  for (const CleanStep& step : before) {
    if (step.by_hand) out.push_back(step);
  }
  out.insert(out.end(), plan.begin(), plan.end());
  return out;
}

std::vector<std::string> commands_of(const std::vector<OperatorStep>& own,
                                     const std::vector<CleanStep>& plan) {
  std::vector<std::string> commands = commands_of(own);
  for (const CleanStep& step : plan) {
    if (!step.by_hand) continue;
    const auto defined = definition_of(step, own);
    if (!defined || defined->is_hold()) continue;
    if (std::find(commands.begin(), commands.end(), defined->command) == commands.end()) {
      commands.push_back(defined->command);
    }
  }
  return commands;
}

}  // namespace reclaim
