// Takes the baseline of a drive before its erase: reads the samples and writes the canaries that
// verification compares with. Blocking; thread: the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// Waits for a sanitize that runs already, reads the samples, looks at the guards once more, then
// writes the canaries, flushes and reads them back. The canaries come last, so that from then on
// Global Data Erased is clear until an erase sets it. Errc::failed: the drive cannot be read or
// written, with the remedy; Errc::refused: a guard; Errc::cancelled: stopped.
[[nodiscard]] Result<Baseline> take_baseline(DriveContext& drive, StopFlag& stop);

}  // namespace reclaim::nvme
