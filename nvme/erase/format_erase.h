// Format NVM with a secure erase of a claimed drive. The command ends when all is erased; a drive
// that lost power or was reset meanwhile need not go on, so that everything but a clear answer is
// unknown. Blocking; thread: the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// See Drives::erase.
[[nodiscard]] Result<EraseEvidence> erase_by_format(DriveContext& drive,
                                                    const EraseRequest& request,
                                                    const ReportProgress& on_progress,
                                                    StopFlag& stop);

}  // namespace reclaim::nvme
