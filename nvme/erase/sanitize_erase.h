// Sanitize of a claimed drive: sent, or adopted where it runs, and watched until the drive has said
// how it ended. Blocking; thread: the drive's.
#pragma once

#include "nvme/controller/sanitize.h"
#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

[[nodiscard]] Result<SanitizeLog> sanitize_log(const DriveContext& drive);
// Waits until no sanitize runs, ours or another; Errc::failed at `deadline`. A media verification
// does not end by itself: this leads the drive out of it, behind the guards.
[[nodiscard]] Result<SanitizeLog> wait_while_sanitizing(const DriveContext& drive, MonoMs deadline,
                                                        std::int64_t stall_timeout_ms,
                                                        StopFlag& stop);
// See Drives::erase. A sanitize needs no baseline: without a canary it has to move the drive's log
// to be believed.
[[nodiscard]] Result<EraseEvidence> erase_by_sanitize(DriveContext& drive,
                                                      const EraseRequest& request,
                                                      const ReportProgress& on_progress,
                                                      StopFlag& stop);

}  // namespace reclaim::nvme
