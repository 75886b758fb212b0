#include "handlers/survey/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "handlers/survey/function_plan.h"
#include "state/base/check.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/device/order_args.h"

namespace reclaim {
namespace {

constexpr int kErasePriority = 50;
constexpr int kPriorityMax = 1000;
constexpr std::size_t kArgsBytesMax = std::size_t{32} * 1024;
constexpr const char* kGiven = "args";     // what the command is given
constexpr const char* kDigest = "sha256";  // of a command, once it was locked in
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
    StepKind{nvme::DriveStep::restore_firmware, 0, true, kRestoreFirmwareTimeoutMs},
    StepKind{nvme::DriveStep::recover_sanitize, 85, false, kNoLimitOfItsOwn},
    StepKind{nvme::DriveStep::reset_controller_state, 80, false, 180'000},
    StepKind{nvme::DriveStep::reset_namespaces, 70, false, 300'000},
};

std::string name_of(const StepKind& kind) {
  return fmt::format("{}.{}", kNvmeInterface, to_string(kind.step));
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

// The step's priority as the operator wants it, else as it is by itself.
int priority_of(const StepKind& kind, const StepPriorities& priorities) {
  const auto wanted = priorities.find(name_of(kind));
  return wanted == priorities.end() ? kind.priority : wanted->second;
}

// The arguments that were given by hand; nothing: none were.
std::optional<std::string> given_args(const CleanStep& step) {
  if (!step.by_hand) return std::nullopt;
  const auto args = json::parse(step.args, kArgsBytesMax);
  const rapidjson::Value* given = args ? json::find(*args, kGiven) : nullptr;
  if (given == nullptr) return std::nullopt;
  return json::to_text(*given);
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

std::string restore_firmware_step() {
  return fmt::format("{}.{}", kNvmeInterface, to_string(nvme::DriveStep::restore_firmware));
}

Status check_step_priorities(const StepPriorities& priorities) {
  for (const auto& [name, priority] : priorities) {
    const auto* const kind =
        std::find_if(kSteps.begin(), kSteps.end(),
                     [&wanted = name](const StepKind& k) { return name_of(k) == wanted; });
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

std::string built_in_step_at(int priority, const StepPriorities& priorities) {
  for (const StepKind& kind : kSteps) {
    if (priority_of(kind, priorities) == priority) return name_of(kind);
  }
  return {};
}

// The step as Ironic has it, and what an operator has to know of it besides.
CleanStep as_plan_step(const OperatorStep& step) {
  const auto args = json::parse(step.args, kArgsBytesMax);
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto add = [&](const char* name, auto&& value) {
    document.AddMember(rapidjson::StringRef(name), std::forward<decltype(value)>(value), allocator);
  };
  add("timeout_ms", rapidjson::Value(step.timeout_ms));
  if (step.is_hold()) {
    add("approvals", rapidjson::Value(step.approvals));
  } else {
    add("command", json_string(step.command, allocator));
    add("driver", json_string(step.driver, allocator));
    add("verifies", rapidjson::Value(step.verifies));
    if (step.network) add("network", rapidjson::Value(true));
  }
  add("abortable", rapidjson::Value(step.abortable));
  add("stage", rapidjson::StringRef(step.stage == StepStage::before ? "before" : "after"));
  add("args", args ? rapidjson::Value(*args, allocator) : rapidjson::Value(rapidjson::kObjectType));
  return CleanStep{step.interface, step.name, step.priority, json::to_text(document)};
}

CleanStep without_digest(const CleanStep& step) {
  auto args = json::parse(step.args, kArgsBytesMax);
  if (!args || !args->IsObject() || !args->RemoveMember(kDigest)) return step;
  return CleanStep{step.interface, step.step, step.priority, json::to_text(*args), step.by_hand};
}

std::vector<CleanStep> built_in_steps(const DevicePolicy& policy, const ConductorOptions& options) {
  const std::int64_t cleanup_ms = policy.cleanup_timeout_ms.value_or(options.cleanup_timeout_ms);
  std::vector<CleanStep> steps;
  for (const StepKind& kind : kSteps) {
    const int priority = priority_of(kind, options.step_priorities);
    const bool disabled = priority <= 0 && kind.may_be_disabled;
    const std::int64_t timeout_ms =
        kind.timeout_ms == kNoLimitOfItsOwn ? cleanup_ms : kind.timeout_ms;
    steps.push_back(CleanStep{std::string(kNvmeInterface), std::string(to_string(kind.step)),
                              disabled ? 0 : std::max(priority, kErasePriority + 1),
                              fmt::format("{{\"timeout_ms\":{}}}", timeout_ms)});
  }
  return steps;
}

std::vector<CleanStep> make_plan(std::optional<nvme::EraseMethod> method,
                                 const DevicePolicy& policy, const ConductorOptions& options) {
  const std::int64_t cleanup_ms = policy.cleanup_timeout_ms.value_or(options.cleanup_timeout_ms);
  std::vector<CleanStep> plan;
  for (CleanStep& step : built_in_steps(policy, options)) {
    if (step.priority > 0) plan.push_back(std::move(step));
  }
  if (method) {
    plan.push_back(CleanStep{std::string(kNvmeInterface), std::string(to_string(*method)),
                             kErasePriority,
                             fmt::format("{{\"timeout_ms\":{},\"stall_timeout_ms\":{}}}",
                                         cleanup_ms, options.stall_timeout_ms)});
  }
  return with_own_steps(plan, policy.steps, options);
}

std::vector<CleanStep> with_own_steps(const std::vector<CleanStep>& plan,
                                      const std::vector<OperatorStep>& own,
                                      const ConductorOptions& options) {
  std::vector<CleanStep> out;
  for (const CleanStep& step : plan) {
    const bool built_in = step.interface == kNvmeInterface || step.interface == kPciInterface;
    if (built_in && !step.by_hand) out.push_back(step);
  }
  for (const OperatorStep& step : own) {
    if (step.priority > 0) out.push_back(as_plan_step(step));
  }
  const std::vector<std::string>& order = options.clean_interfaces;
  const auto rank = [&order](const CleanStep& step) {
    return std::find(order.begin(), order.end(), step.interface) - order.begin();
  };
  std::stable_sort(out.begin(), out.end(), [&rank](const CleanStep& a, const CleanStep& b) {
    return a.priority != b.priority ? a.priority > b.priority : rank(a) < rank(b);
  });
  // A step that is as it was keeps what was locked in of it.
  for (CleanStep& step : out) {
    const auto locked = std::find_if(plan.begin(), plan.end(), [&step](const CleanStep& before) {
      return name_of(before) == name_of(step) && without_digest(before) == step;
    });
    if (locked != plan.end()) step = *locked;
  }
  return out;
}

std::optional<OperatorStep> definition_of(const CleanStep& step,
                                          const std::vector<OperatorStep>& own) {
  const CleanStep planned = without_digest(step);
  const std::optional<std::string> given = given_args(step);
  for (OperatorStep defined : own) {
    if (defined.interface != step.interface || defined.name != step.step) continue;
    if (given) {
      if (!check_planned_args(*given, defined.args, defined.order_args)) continue;
      defined.args = *given;
    }
    CleanStep now = as_plan_step(defined);
    now.by_hand = step.by_hand;
    if (now == planned) return defined;
  }
  return std::nullopt;
}

std::string locked_digest(const CleanStep& step) {
  const auto args = json::parse(step.args, kArgsBytesMax);
  return args ? json::maybe_string(*args, kDigest).value_or("") : std::string();
}

CleanStep with_digest(const CleanStep& step, const std::string& sha256) {
  auto args = json::parse(step.args, kArgsBytesMax);
  CHECK(args && args->IsObject());
  args->RemoveMember(kDigest);
  args->AddMember(rapidjson::StringRef(kDigest), json_string(sha256, args->GetAllocator()),
                  args->GetAllocator());
  return CleanStep{step.interface, step.step, step.priority, json::to_text(*args), step.by_hand};
}

std::size_t erase_index(const std::vector<CleanStep>& plan) {
  const auto erase = std::find_if(plan.begin(), plan.end(), [](const CleanStep& step) {
    return step.interface == kNvmeInterface && !step.by_hand &&
           nvme::parse_erase_method(step.step).ok();
  });
  return static_cast<std::size_t>(erase - plan.begin());
}

Result<nvme::EraseMethod> erase_of(const std::vector<CleanStep>& plan) {
  const std::size_t index = erase_index(plan);
  if (index == plan.size()) return Error{Errc::invalid, "the record has no plan with an erase"};
  return nvme::parse_erase_method(plan[index].step);
}

bool is_whole(const std::vector<CleanStep>& plan) {
  const std::size_t erase = erase_index(plan);
  if (erase == plan.size() || !named_stand_first(plan)) return false;
  std::size_t known = 1;
  for (const StepKind& kind : kSteps) {
    const auto is_it = [&kind](const CleanStep& step) {
      return step.interface == kNvmeInterface && step.step == to_string(kind.step) && !step.by_hand;
    };
    const auto before =
        std::count_if(plan.begin(), plan.begin() + static_cast<std::ptrdiff_t>(erase), is_it);
    if (before > 1 || (before == 0 && !kind.may_be_disabled)) return false;
    known += static_cast<std::size_t>(before);
  }
  // The plan has no other step of ours: neither one of them after the erase, nor a second erase,
  // nor one unknown.
  const auto ours = std::count_if(plan.begin(), plan.end(), [](const CleanStep& step) {
    return step.interface == kNvmeInterface && !step.by_hand;
  });
  return known == static_cast<std::size_t>(ours);
}

bool judges_health(const std::vector<CleanStep>& plan) {
  return std::any_of(plan.begin(), plan.end(), [](const CleanStep& step) {
    return step.interface == kNvmeInterface &&
           step.step == to_string(nvme::DriveStep::check_health);
  });
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

bool named_stand_first(const std::vector<CleanStep>& plan) {
  return std::is_partitioned(plan.begin(), plan.end(),
                             [](const CleanStep& step) { return step.by_hand; });
}

std::string findings_key(const std::vector<CleanStep>& plan, std::size_t index) {
  const CleanStep& step = plan.at(index);
  return step.by_hand ? fmt::format("{}#{}", name_of(step), index + 1) : name_of(step);
}

std::string uncovered_step(const std::vector<CleanStep>& plan, const std::string& findings) {
  const auto document = json::parse(findings, kFindingsBytesMax);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (i == erase_index(plan)) continue;
    std::string name = findings_key(plan, i);
    const rapidjson::Value* found = document ? json::find(*document, name) : nullptr;
    if (found == nullptr || !found->IsArray()) return name;
  }
  return {};
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
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(step), step.priority);
  }
  return out;
}

}  // namespace reclaim
