// A reset of a claimed drive's controller. The claim holds through it: the kernel keeps the nodes.
// Blocking; thread: the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// Resets it and waits until it is live again, as long as a claim waits for the driver. That it is
// the same drive, and unused, is the caller's to look at. Errc::failed: it does not come back;
// Errc::cancelled.
[[nodiscard]] Status reset_and_wait(const DriveContext& drive, StopFlag& stop);

}  // namespace reclaim::nvme
