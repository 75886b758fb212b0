// The plan that a device is admitted with. Pure.
#pragma once

#include <vector>

#include "handlers/survey/admission.h"

namespace reclaim {

// Needs a policy. A whole plan whose erase has begun is locked in; else the operator's own steps
// are those of today, and what he named by hand comes first. Refusal: the reason.
[[nodiscard]] Result<std::vector<CleanStep>> admitted_plan(const Record& record,
                                                           const nvme::DriveFacts& drive,
                                                           const Planning& planning);

}  // namespace reclaim
