// The hold at which a plan waits for operators' approvals.
#pragma once

#include <string>

#include "state/device/record.h"

namespace reclaim {

// The id of the hold at which the record is: the step, its place in the plan and the cleaning that
// it belongs to. An approval names the id, so that it is of no other hold. Pure; thread: any.
[[nodiscard]] std::string hold_id(const Record& record);

}  // namespace reclaim
