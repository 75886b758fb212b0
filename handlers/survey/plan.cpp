#include "handlers/survey/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "state/base/json.h"

namespace reclaim {
namespace {

constexpr std::string_view kInterface = "nvme";
constexpr int kErasePriority = 50;
constexpr int kPriorityMax = 1000;
constexpr std::size_t kArgsBytesMax = 4096;
constexpr std::size_t kFindingsBytesMax = std::size_t{1024} * 1024;
constexpr std::int64_t kNoLimitOfItsOwn = 0;

struct StepKind {
  nvme::DriveStep step;
  int priority;
  bool may_be_disabled;
  std::int64_t timeout_ms;  // kNoLimitOfItsOwn: [nvme] cleanup_timeout
};

constexpr std::array kSteps{
    StepKind{nvme::DriveStep::check_health, 90, true, 60'000},
    StepKind{nvme::DriveStep::recover_sanitize, 85, false, kNoLimitOfItsOwn},
    StepKind{nvme::DriveStep::reset_controller_state, 80, false, 180'000},
    StepKind{nvme::DriveStep::reset_namespaces, 70, false, 300'000},
};

std::string name_of(const StepKind& kind) {
  return fmt::format("{}.{}", kInterface, to_string(kind.step));
}

constexpr bool priorities_are_distinct() {
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    for (std::size_t j = i + 1; j < kSteps.size(); ++j) {
      if (kSteps[i].priority == kSteps[j].priority) return false;
    }
  }
  return true;
}

static_assert(priorities_are_distinct(), "unchanged, the order of the steps is one that we say");

// As the operator wants it, else as it is by itself.
int priority_of(const StepKind& kind, const StepPriorities& priorities) {
  const auto wanted = priorities.find(name_of(kind));
  return wanted == priorities.end() ? kind.priority : wanted->second;
}

std::string known_steps() {
  std::string out;
  for (const StepKind& kind : kSteps) {
    out += out.empty() ? "" : ", ";
    out += name_of(kind);
  }
  return out;
}

}  // namespace

Status check_step_priorities(const StepPriorities& priorities) {
  for (const auto& [name, priority] : priorities) {
    const auto* const kind =
        std::find_if(kSteps.begin(), kSteps.end(),
                     [&name = name](const StepKind& k) { return name_of(k) == name; });
    if (kind == kSteps.end()) {
      return Error{Errc::invalid,
                   fmt::format("there is no clean step '{}' that could be ordered; there are {} "
                               "(guards, erase and verification have their places)",
                               name, known_steps())};
    }
    if (priority == 0) {
      if (kind->may_be_disabled) continue;
      return Error{Errc::invalid, fmt::format("{} cannot be disabled (priority 0): what a tenant "
                                              "may have left would not be looked at",
                                              name)};
    }
    if (priority <= kErasePriority || priority > kPriorityMax) {
      return Error{Errc::invalid, fmt::format("the priority of {} is {}; it has to be above the "
                                              "erase's, which is {}, and at most {}",
                                              name, priority, kErasePriority, kPriorityMax)};
    }
  }
  return Ok{};
}

Status check_step_order(const StepPriorities& priorities) {
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const int priority = priority_of(kSteps[i], priorities);
    if (priority == 0) continue;
    for (std::size_t j = i + 1; j < kSteps.size(); ++j) {
      if (priority_of(kSteps[j], priorities) != priority) continue;
      return Error{Errc::invalid, fmt::format("{} and {} have the same priority, {}, so their "
                                              "order is undefined: give each its own",
                                              name_of(kSteps[i]), name_of(kSteps[j]), priority)};
    }
  }
  return Ok{};
}

std::vector<CleanStep> make_plan(std::optional<nvme::EraseMethod> method,
                                 const ConductorOptions& options) {
  std::vector<CleanStep> plan;
  for (const StepKind& kind : kSteps) {
    const int priority = priority_of(kind, options.step_priorities);
    if (priority <= 0 && kind.may_be_disabled) continue;
    const std::int64_t timeout_ms =
        kind.timeout_ms == kNoLimitOfItsOwn ? options.cleanup_timeout_ms : kind.timeout_ms;
    plan.push_back(CleanStep{std::string(kInterface), std::string(to_string(kind.step)),
                             std::max(priority, kErasePriority + 1),
                             fmt::format("{{\"timeout_ms\":{}}}", timeout_ms)});
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const CleanStep& a, const CleanStep& b) { return a.priority > b.priority; });
  if (method) {
    plan.push_back(CleanStep{std::string(kInterface), std::string(to_string(*method)),
                             kErasePriority,
                             fmt::format("{{\"timeout_ms\":{},\"stall_timeout_ms\":{}}}",
                                         options.cleanup_timeout_ms, options.stall_timeout_ms)});
  }
  return plan;
}

Result<nvme::EraseMethod> erase_of(const std::vector<CleanStep>& plan) {
  if (plan.empty()) return Error{Errc::invalid, "the record has no plan"};
  return nvme::parse_erase_method(plan.back().step);
}

bool is_whole(const std::vector<CleanStep>& plan) {
  if (!erase_of(plan)) return false;
  std::size_t known = 0;
  for (const StepKind& kind : kSteps) {
    const auto count = std::count_if(plan.begin(), plan.end(), [&kind](const CleanStep& step) {
      return step.interface == kInterface && step.step == to_string(kind.step);
    });
    if (count > 1 || (count == 0 && !kind.may_be_disabled)) return false;
    known += static_cast<std::size_t>(count);
  }
  return known + 1 == plan.size();
}

Status check_method(const DevicePolicy& policy, const MethodChoice& choose,
                    const nvme::Capabilities& capabilities, nvme::EraseMethod method) {
  const auto chosen = choose(policy, capabilities);
  if (!chosen) return chosen.error();
  if (*chosen == method) return Ok{};
  const bool left_to_us = policy.rules.action == nvme::ClearAction::auto_ &&
                          policy.rules.strategy == nvme::ClearStrategy::auto_;
  const bool as_good = nvme::sanitization_class(method) == nvme::sanitization_class(*chosen) ||
                       nvme::is_sanitize(method);
  if (left_to_us && as_good) return Ok{};
  return Error{
      Errc::refused,
      fmt::format("its plan, locked in earlier, erases by {}, and what is configured today "
                  "asks for {}: `reclaim device clean` makes the plan again",
                  nvme::to_string(method), nvme::to_string(*chosen))};
}

std::string uncovered_step(const std::vector<CleanStep>& plan, const std::string& findings) {
  const auto document = json::parse(findings, kFindingsBytesMax);
  for (std::size_t i = 0; i < steps_before_erase(plan); ++i) {
    std::string name = plan[i].interface + "." + plan[i].step;
    const rapidjson::Value* found = document ? json::find(*document, name) : nullptr;
    if (found == nullptr || !found->IsArray()) return name;
  }
  return {};
}

std::size_t steps_before_erase(const std::vector<CleanStep>& plan) {
  return erase_of(plan) ? plan.size() - 1 : plan.size();
}

std::int64_t step_time_ms(const CleanStep& step, const char* name, std::int64_t otherwise_ms) {
  const auto args = json::parse(step.args, kArgsBytesMax);
  if (!args) return otherwise_ms;
  const auto ms = json::get_int(*args, name);
  return ms && *ms > 0 ? *ms : otherwise_ms;
}

std::string describe_plan(const std::vector<CleanStep>& plan) {
  std::string out;
  for (const CleanStep& step : plan) {
    out += fmt::format("{}{}.{} {}", out.empty() ? "" : ", ", step.interface, step.step,
                       step.priority);
  }
  return out;
}

}  // namespace reclaim
