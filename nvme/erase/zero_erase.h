// Zeroing of a claimed drive: every block of every namespace.
//
// write_zeroes goes through the kernel (BLKZEROOUT) in chunks instead of sending the drive's Write
// Zeroes ourselves: the kernel makes commands of it within WZSL or MDTS and never sets the bit that
// lets the drive deallocate; it throws its own cache of the range away; it knows the models whose
// command is broken and writes zeroes there; and it goes through the namespaces' exclusive
// descriptors instead of past them. In chunks, since it cannot be interrupted. Blocking; thread:
// the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// See Drives::erase.
[[nodiscard]] Result<EraseEvidence> erase_by_zeroing(DriveContext& drive,
                                                     const EraseRequest& request,
                                                     const ReportProgress& on_progress,
                                                     StopFlag& stop);

}  // namespace reclaim::nvme
