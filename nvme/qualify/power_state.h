// Sends a claimed drive into its deepest power state and back, as hosts do by themselves: what a
// drive keeps in a cache may come back from it. Blocking; thread: the drive's.
#pragma once

#include <string>

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// Returns what was done, or why it could not be, in words.
[[nodiscard]] std::string visit_deepest_power_state(const DriveContext& drive, StopFlag& stop);

}  // namespace reclaim::nvme
