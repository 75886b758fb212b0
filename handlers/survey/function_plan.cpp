#include "handlers/survey/function_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "handlers/survey/plan.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"

namespace reclaim {
namespace {

using nvme::PciStep;

constexpr int kPriorityMax = 1000;
constexpr std::size_t kArgsBytesMax = std::size_t{32} * 1024;

struct FunctionStep {
  PciStep step;
  int priority;
};

// The built-in steps stand behind an operator's own, which put right what these look at.
constexpr std::array kSteps{
    FunctionStep{PciStep::reset, 40},
    FunctionStep{PciStep::check_config, 30},
    FunctionStep{PciStep::check_rom, 20},
    FunctionStep{PciStep::check_health, 10},
};

int priority_of(const FunctionStep& step, const StepPriorities& priorities) {
  const auto wanted = priorities.find(std::string(to_string(step.step)));
  return wanted == priorities.end() ? step.priority : wanted->second;
}

bool verifies(const CleanStep& step) {
  if (step.interface == kPciInterface || step.by_hand) return false;
  const auto args = json::parse(step.args, kArgsBytesMax);
  const rapidjson::Value* word = args ? json::find(*args, "verifies") : nullptr;
  return word != nullptr && word->IsTrue();
}

std::string in_json(const char* name, const std::vector<std::string>& names) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  document.AddMember("method", json_string(kByOperatorSteps, allocator), allocator);
  rapidjson::Value list(rapidjson::kArrayType);
  for (const std::string& each : names) list.PushBack(json_string(each, allocator), allocator);
  document.AddMember(rapidjson::StringRef(name), list, allocator);
  return json::to_text(document);
}

}  // namespace

Status check_function_step_priorities(const StepPriorities& priorities) {
  for (const auto& [name, priority] : priorities) {
    if (!nvme::parse_pci_step(name)) {
      return Error{Errc::invalid,
                   fmt::format("there is no clean step '{}'; there are {}, {}, {} and {}", name,
                               to_string(PciStep::reset), to_string(PciStep::check_config),
                               to_string(PciStep::check_rom), to_string(PciStep::check_health))};
    }
    if (priority < 0 || priority > kPriorityMax) {
      return Error{Errc::invalid, fmt::format("the priority of {} is {}; it has to be 0, which "
                                              "leaves it out, to {}",
                                              name, priority, kPriorityMax)};
    }
  }
  return Ok{};
}

Status check_function_step_order(const StepPriorities& priorities) {
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const int priority = priority_of(kSteps[i], priorities);
    for (std::size_t j = i + 1; j < kSteps.size() && priority != 0; ++j) {
      if (priority_of(kSteps[j], priorities) != priority) continue;
      return Error{Errc::invalid,
                   fmt::format("{} and {} have the same priority, {}, so their "
                               "order is undefined: give each its own",
                               to_string(kSteps[i].step), to_string(kSteps[j].step), priority)};
    }
  }
  return Ok{};
}

std::string built_in_function_step_at(int priority, const StepPriorities& priorities) {
  for (const FunctionStep& step : kSteps) {
    if (priority_of(step, priorities) == priority) return std::string(to_string(step.step));
  }
  return {};
}

Status check_function_plan(const DevicePolicy& policy) {
  const bool able =
      std::any_of(policy.steps.begin(), policy.steps.end(),
                  [](const OperatorStep& step) { return step.verifies && step.priority > 0; });
  if (able) return Ok{};
  return Error{Errc::refused,
               "none of its steps verifies, so nothing could show that it is clean: give it a "
               "[step:NAME] with verifies = true and a priority above 0"};
}

std::vector<CleanStep> built_in_function_steps(const ConductorOptions& options) {
  std::vector<CleanStep> steps;
  for (const FunctionStep& each : kSteps) {
    const std::string name(to_string(each.step));
    steps.push_back({std::string(kPciInterface), name.substr(kPciInterface.size() + 1),
                     priority_of(each, options.function_step_priorities), "{}"});
  }
  return steps;
}

std::vector<CleanStep> make_function_plan(const DevicePolicy& policy,
                                          const ConductorOptions& options) {
  std::vector<CleanStep> plan;
  for (CleanStep& step : built_in_function_steps(options)) {
    if (step.priority > 0) plan.push_back(std::move(step));
  }
  return with_own_steps(plan, policy.steps, options);
}

bool is_whole_function_plan(const std::vector<CleanStep>& plan) {
  for (const CleanStep& step : plan) {
    if (step.interface == kNvmeInterface) return false;
    if (step.interface != kPciInterface) continue;
    const auto same = std::count_if(plan.begin(), plan.end(), [&step](const CleanStep& other) {
      return name_of(other) == name_of(step) && !other.by_hand;
    });
    if (same > 1 || !nvme::parse_pci_step(name_of(step))) return false;
  }
  return !verifying_steps(plan).empty() && named_stand_first(plan);
}

std::vector<std::string> step_names(const std::vector<CleanStep>& plan) {
  std::vector<std::string> names;
  names.reserve(plan.size());
  for (const CleanStep& step : plan) names.push_back(name_of(step));
  return names;
}

std::vector<std::string> verifying_steps(const std::vector<CleanStep>& plan) {
  std::vector<std::string> names;
  for (const CleanStep& step : plan) {
    if (verifies(step)) names.push_back(name_of(step));
  }
  return names;
}

std::string steps_as_evidence(const std::vector<CleanStep>& plan) {
  return in_json("steps", step_names(plan));
}

std::string steps_as_verification(const std::vector<CleanStep>& plan) {
  return in_json("verified_by", verifying_steps(plan));
}

}  // namespace reclaim
