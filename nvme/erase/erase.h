// The erase of a claimed drive, by its method. Blocking; thread: the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// See Drives::erase. With adopt_ours and neither a sanitize of ours running nor a zeroing that may
// go on behind its mark: Errc::not_found, and nothing is sent; formatting always begins again.
[[nodiscard]] Result<EraseEvidence> erase_drive(DriveContext& drive, const EraseRequest& request,
                                                const ReportProgress& on_progress, StopFlag& stop);

}  // namespace reclaim::nvme
