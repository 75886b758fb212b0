// The clean steps that an operator may name for one cleaning of a device, and the plan that begins
// with those he named (state/device/named_steps.h). Pure.
#pragma once

#include <vector>

#include "handlers/options.h"
#include "state/device/record.h"

namespace reclaim {

// Every built-in step and every step of the operator's own that is for the device, also those with
// priority 0, with its order_args as args; not the erase, which the plan has anyway.
[[nodiscard]] std::vector<CleanStep> offered_steps(const DevicePolicy& policy,
                                                   const ConductorOptions& options, bool by_steps);

// `named` as they are defined today, their arguments over the configured ones. Errc::invalid: one
// is not offered, or an argument is not one that an order may set. Errc::limit: together they do
// not fit into a record (kNamedPlanBytesMax).
[[nodiscard]] Result<std::vector<CleanStep>> named_part(const std::vector<CleanStep>& named,
                                                        const DevicePolicy& policy,
                                                        const ConductorOptions& options,
                                                        bool by_steps);

// The steps that were named for the device's next cleaning (Record::steps_ordered), as they are
// defined today, before `plan`; what the record's plan has locked in of them stays. Errc::refused
// with the remedy: named_part() refuses them now.
[[nodiscard]] Result<std::vector<CleanStep>> with_named_steps(const Record& record,
                                                              std::vector<CleanStep> plan,
                                                              const DevicePolicy& policy,
                                                              const ConductorOptions& options);

// `plan` behind those that `before` begins with.
[[nodiscard]] std::vector<CleanStep> behind_named_steps(const std::vector<CleanStep>& before,
                                                        const std::vector<CleanStep>& plan);

// The commands that the plan runs: of the operator's own steps those with a priority, and those
// that were named. Absolute paths.
[[nodiscard]] std::vector<std::string> commands_of(const std::vector<OperatorStep>& own,
                                                   const std::vector<CleanStep>& plan);

}  // namespace reclaim
