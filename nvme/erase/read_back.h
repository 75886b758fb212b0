// Finds how far a zeroing that was interrupted has come: what was written is flushed and read back,
// by the process that wrote it or by the next. Only what reads as zeroes, while nothing else was
// written, counts. Blocking; thread: the drive's.
#pragma once

#include <cstdint>
#include <vector>

#include "nvme/drive_context.h"
#include "nvme/stop_flag.h"
#include "nvme/verify/sampling.h"

namespace reclaim::nvme {

// Counts the bytes of `written` that read back as zeroes, from its beginning on. Fewer than all
// where the drive has not kept the zeroes, or does not read; none where it does not flush.
// Errc::busy: the drive is not itself again yet. Any other: it may not be written to any more; a
// guard refuses, or somebody else wrote (Errc::failed).
[[nodiscard]] Result<std::uint64_t> read_back_zeroes(const DriveContext& drive,
                                                     const std::vector<Stretch>& written,
                                                     MonoMs deadline,
                                                     const ReportProgress& on_progress,
                                                     StopFlag& stop);

}  // namespace reclaim::nvme
