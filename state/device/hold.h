// The hold at which a plan waits for operators' approvals.
#pragma once

#include <string>

#include "state/device/record.h"

namespace reclaim {

// Which one it is: the step, its place in the plan and the cleaning that it belongs to. What an
// approval names, so that it is of no other. Pure; thread: any.
[[nodiscard]] std::string hold_id(const Record& record);

}  // namespace reclaim
