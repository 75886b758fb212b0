// Says for `reclaim plan` why a drive is too unwell to be given back. Pure.
#pragma once

#include <string>
#include <vector>

#include "handlers/options.h"
#include "nvme/controller/facts.h"
#include "state/device/record.h"

namespace reclaim::cli {

// "it is going to be erased, and not returned: …"; empty: by its SMART log as it is now, nothing
// speaks against that, or the plan does not ask, or it cannot be read.
[[nodiscard]] std::string why_kept_back(const nvme::DriveFacts& drive, const Record& record,
                                        const DevicePolicy& policy,
                                        const std::vector<CleanStep>& plan);

}  // namespace reclaim::cli
