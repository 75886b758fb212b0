// Writes what a command of an operator's step is told on its standard input
// (docs/clean-step-protocol.md). Pure.
#pragma once

#include <string>

#include "handlers/operator_step.h"
#include "state/device/record.h"

namespace reclaim {

inline constexpr int kStepProtocol = 1;

// One JSON object in one line. `dry_run`: the step only tells what it would do.
[[nodiscard]] std::string step_input(const Record& record, const OperatorStep& step,
                                     bool dry_run = false);

}  // namespace reclaim
