// A qualification's passes over the media of a claimed drive: the pattern is written, and every
// block is read. Blocking; thread: the drive's.
#pragma once

#include <functional>
#include <vector>

#include "nvme/drive_context.h"
#include "nvme/qualify/qualification.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

// Writes it over every block of every namespace, and flushes. Errc::failed: the drive cannot be
// written, or stalls; Errc::cancelled: stopped.
[[nodiscard]] Result<Pass> write_pattern(const DriveContext& drive, const Pattern& pattern,
                                         const ReportProgress& on_progress, StopFlag& stop);

struct MediaLook {
  Pass pass;
  MediaCounts counts;
};
// Reads every block past the kernel's cache. `patterns` as count_media() has them. What cannot be
// read is counted, unless the drive is gone. Errors as above.
[[nodiscard]] Result<MediaLook> look_at_media(const DriveContext& drive,
                                              const std::vector<Pattern>& patterns,
                                              const ReportProgress& on_progress, StopFlag& stop);

// True if the error of a read tells that there is no drive any more, and nothing of its blocks.
[[nodiscard]] bool is_gone(const Error& error);

}  // namespace reclaim::nvme
