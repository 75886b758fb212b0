// The plan of a cleaning: which clean steps, in which order, with what time each. What stands
// between guards and baseline may be ordered by an operator; the frame around it and the erase may
// not. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "handlers/options.h"
#include "nvme/controller/facts.h"
#include "state/device/record.h"

namespace reclaim {

// Is every step named one there is, its priority above the erase's, and none disabled (0) that the
// promise needs? Only check_health may be.
[[nodiscard]] Status check_step_priorities(const StepPriorities& priorities);

// Do the steps that are enabled by these have priorities of their own? Ironic's conductor does not
// start where two of an interface have not, for nobody has said which of them goes first.
[[nodiscard]] Status check_step_order(const StepPriorities& priorities);

// The plan, highest priority first, the erase last. Without a method (a drive whose capabilities
// are only known once it is claimed) the erase is left out; such a plan is not whole.
[[nodiscard]] std::vector<CleanStep> make_plan(std::optional<nvme::EraseMethod> method,
                                               const ConductorOptions& options);

// Everything that has to be done stands in it, and the erase is its last step. Records of an older
// version, and hands, make others.
[[nodiscard]] bool is_whole(const std::vector<CleanStep>& plan);

// The method of the plan's erase, which is its last step.
[[nodiscard]] Result<nvme::EraseMethod> erase_of(const std::vector<CleanStep>& plan);

// Whether what is configured today allows this drive to be erased by `method`, as a locked plan
// says: it is what would be chosen today, or, where the choice is left to Reclaim, as good or
// better. Errc::refused.
[[nodiscard]] Status check_method(const DevicePolicy& policy, const MethodChoice& choose,
                                  const nvme::Capabilities& capabilities, nvme::EraseMethod method);

// The first step before the erase of which `findings` (the record's JSON) say nothing; empty: they
// cover the plan.
[[nodiscard]] std::string uncovered_step(const std::vector<CleanStep>& plan,
                                         const std::string& findings);

// How many steps stand before the erase.
[[nodiscard]] std::size_t steps_before_erase(const std::vector<CleanStep>& plan);

// A time out of the step's arguments ("timeout_ms", "stall_timeout_ms"), or the one given.
[[nodiscard]] std::int64_t step_time_ms(const CleanStep& step, const char* name,
                                        std::int64_t otherwise_ms);

// "nvme.check_health 90, …": one line for people.
[[nodiscard]] std::string describe_plan(const std::vector<CleanStep>& plan);

}  // namespace reclaim
