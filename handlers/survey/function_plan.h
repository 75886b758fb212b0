// The plan of a PCI function that is no drive: the operator's own steps, and the built-in checks of
// nvme/pci/ behind them. There is no erase in it; what lets the device be released is a step of the
// operator's that verifies. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "handlers/options.h"
#include "nvme/pci/pci_step.h"
#include "state/device/record.h"

namespace reclaim {

inline constexpr std::string_view kPciInterface = "pci";
// A certificate has this for a method, where there was no erase.
inline constexpr std::string_view kByOperatorSteps = "operator_steps";

// Ok if [devices] clean_step_priority_override can be followed: names that there are, and 0 to
// 1000; and then, that no two are equal. Errc::invalid.
[[nodiscard]] Status check_function_step_priorities(const StepPriorities& priorities);
[[nodiscard]] Status check_function_step_order(const StepPriorities& priorities);
// The built-in step that has this priority; empty: none has.
[[nodiscard]] std::string built_in_function_step_at(int priority, const StepPriorities& priorities);

// Ok if the device can be given back at all as it is configured: one of its steps verifies.
// Errc::refused with the remedy.
[[nodiscard]] Status check_function_plan(const DevicePolicy& policy);

// The built-in steps, those with priority 0 among them.
[[nodiscard]] std::vector<CleanStep> built_in_function_steps(const ConductorOptions& options);
[[nodiscard]] std::vector<CleanStep> make_function_plan(const DevicePolicy& policy,
                                                        const ConductorOptions& options);

// Nothing of a drive's stands in it, none of the built-in steps twice, and one step verifies.
[[nodiscard]] bool is_whole_function_plan(const std::vector<CleanStep>& plan);

// The names of its steps ("card.reflash"), all, or those that verify.
[[nodiscard]] std::vector<std::string> step_names(const std::vector<CleanStep>& plan);
[[nodiscard]] std::vector<std::string> verifying_steps(const std::vector<CleanStep>& plan);

// The texts that stand for evidence and verification in the record and the certificate of such a
// device.
[[nodiscard]] std::string steps_as_evidence(const std::vector<CleanStep>& plan);
[[nodiscard]] std::string steps_as_verification(const std::vector<CleanStep>& plan);

}  // namespace reclaim
