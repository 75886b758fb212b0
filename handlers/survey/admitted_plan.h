// The plan that a device is admitted with. Pure.
#pragma once

#include <vector>

#include "handlers/survey/admission.h"

namespace reclaim {

// The facts that a device's record learns from the survey that it is admitted by: its provider, and
// what the host shows. Needs a provider that was read, with one inventory, and the device on the
// host.
[[nodiscard]] Facts facts_at_admission(const Sighting& sighting);

// Needs a policy. A whole plan whose erase has begun is locked in; else the operator's own steps
// are those of today, and what he named by hand comes first. Refusal: the reason.
[[nodiscard]] Result<std::vector<CleanStep>> admitted_plan(const Record& record,
                                                           const nvme::DriveFacts& drive,
                                                           const Planning& planning);

}  // namespace reclaim
