// Verification of a claimed drive after its erase, and whether it is still as that left it.
// Blocking; thread: the drive's.
#pragma once

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

struct Verification {
  VerifyReport report;
  // The drive had Global Data Erased set at the end: it must still be set when the drive is given
  // back.
  bool global_data_erased = false;
};

// See Drives::verify. Reads that fail right after the erase are tried again for a bounded while.
[[nodiscard]] Result<Verification> verify_erasure(const DriveContext& drive,
                                                  const Baseline& baseline,
                                                  const EraseEvidence& evidence,
                                                  const ReportProgress& on_progress,
                                                  StopFlag& stop);

// See Drives::still_ours.
[[nodiscard]] Result<Counters> still_as_verified(const DriveContext& drive, const Counters& since,
                                                 bool relies_on_global_data_erased);

}  // namespace reclaim::nvme
