// [reclaim] mode = observe: what an assessment would lead to is said, and not done. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "handlers/survey/admission.h"

namespace reclaim {

// Each such note begins so, in the record and in the log.
inline constexpr std::string_view kObserved = "mode = observe: would ";

// Takes out of the assessment what would write to Placement, and says so. What the device becomes
// by what was seen (allocated, pending_cleaning) stays, and is recorded as ever.
void only_observe(Assessment& assessment, const Record& record);

// The note of a device that nothing forbids to clean.
[[nodiscard]] std::string would_clean(const std::vector<CleanStep>& plan);

}  // namespace reclaim
