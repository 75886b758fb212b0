// The plan of a cleaning: which clean steps, in which order, with what time each. What stands
// between guards and baseline may be ordered by an operator; the frame around it and the erase may
// not. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/options.h"
#include "nvme/controller/facts.h"
#include "state/device/record.h"

namespace reclaim {

// The interface of the built-in steps of a drive.
inline constexpr std::string_view kNvmeInterface = "nvme";

// The priority of nvme.restore_firmware where there are images ([nvme] firmware_images); without
// them it is left out like every step with priority 0, unless an operator gives it one.
inline constexpr int kRestoreFirmwarePriority = 88;
inline constexpr std::int64_t kRestoreFirmwareTimeoutMs = 900'000;  // all slots, written to flash
[[nodiscard]] std::string restore_firmware_step();

// Is every step named one there is, its priority above the erase's, and none disabled (0) that the
// promise needs? Only check_health and restore_firmware may be.
[[nodiscard]] Status check_step_priorities(const StepPriorities& priorities);

// Do the steps that are enabled by these have priorities of their own? Ironic's conductor does not
// start where two of an interface have not, for nobody has said which of them goes first.
[[nodiscard]] Status check_step_order(const StepPriorities& priorities);

// The built-in step of a drive that has this priority; empty: none has.
[[nodiscard]] std::string built_in_step_at(int priority, const StepPriorities& priorities);

// The plan of a drive, highest priority first: built-in steps and the operator's own, of which
// those with priority 0 are left out, the erase in its place. Without a method (a drive whose
// capabilities are only known once it is claimed) the erase is left out; such a plan is not whole.
[[nodiscard]] std::vector<CleanStep> make_plan(std::optional<nvme::EraseMethod> method,
                                               const DevicePolicy& policy,
                                               const ConductorOptions& options);

// The built-in steps of a drive, those with priority 0 among them.
[[nodiscard]] std::vector<CleanStep> built_in_steps(const DevicePolicy& policy,
                                                    const ConductorOptions& options);
// An operator's own step as a plan has it.
[[nodiscard]] CleanStep as_plan_step(const OperatorStep& step);

// Everything that has to be done stands in it, behind what an operator named for this cleaning, and
// before an erase that only an operator's own steps follow. One in Redis may be another: hands
// change it.
[[nodiscard]] bool is_whole(const std::vector<CleanStep>& plan);

// True if the drive's health decides whether it is given back: it does where the plan has
// nvme.check_health, which an operator can leave out.
[[nodiscard]] bool judges_health(const std::vector<CleanStep>& plan);

// True if the steps that an operator named stand before everything else.
[[nodiscard]] bool named_stand_first(const std::vector<CleanStep>& plan);

// The plan as it is locked in, without what an operator named for this cleaning, and with his own
// steps as they are defined today: Ironic's conductor starts a cleaning over as well when the steps
// of its hardware manager have changed.
[[nodiscard]] std::vector<CleanStep> with_own_steps(const std::vector<CleanStep>& plan,
                                                    const std::vector<OperatorStep>& own,
                                                    const ConductorOptions& options);

// The operator's step that a plan's step is, defined as it was when the plan was made, with the
// arguments that were given by hand, if any; nothing: it is a built-in one, there is none of its
// name any more, or it is defined otherwise now.
[[nodiscard]] std::optional<OperatorStep> definition_of(const CleanStep& step,
                                                        const std::vector<OperatorStep>& own);

// The command's SHA-256 that the plan has locked in; empty: none yet.
[[nodiscard]] std::string locked_digest(const CleanStep& step);
[[nodiscard]] CleanStep with_digest(const CleanStep& step, const std::string& sha256);
[[nodiscard]] CleanStep without_digest(const CleanStep& step);

// The index of the erase in the plan; the plan's size: it has none.
[[nodiscard]] std::size_t erase_index(const std::vector<CleanStep>& plan);

// The method of the plan's erase.
[[nodiscard]] Result<nvme::EraseMethod> erase_of(const std::vector<CleanStep>& plan);

// Ok if what is configured today allows this drive to be erased by `method`, as a locked plan says:
// it is what would be chosen today, or, where the choice is left to Reclaim, as good or better.
// Errc::refused.
[[nodiscard]] Status check_method(const DevicePolicy& policy, const MethodChoice& choose,
                                  const nvme::Capabilities& capabilities, nvme::EraseMethod method);

// The key of the findings of a plan's step: its name, and its place where it is by hand.
[[nodiscard]] std::string findings_key(const std::vector<CleanStep>& plan, std::size_t index);

// The first step but the erase of which `findings` (the record's JSON) say nothing; empty: they
// cover the plan.
[[nodiscard]] std::string uncovered_step(const std::vector<CleanStep>& plan,
                                         const std::string& findings);

// A time out of the step's arguments ("timeout_ms", "stall_timeout_ms"), or the one given.
[[nodiscard]] std::int64_t step_time_ms(const CleanStep& step, const char* name,
                                        std::int64_t otherwise_ms);

// "nvme.check_health 90, …": one line for people.
[[nodiscard]] std::string describe_plan(const std::vector<CleanStep>& plan);

}  // namespace reclaim
