// Decides how much of a drive's media is read at once, and how fast: by verification,
// qualification, and by a zeroing that reads back what it wrote. Thread: any.
#pragma once

#include <cstdint>

#include "nvme/drive_context.h"
#include "nvme/erase/sweep.h"
#include "state/base/clock.h"

namespace reclaim::nvme {

// A chunk that cannot be read as a whole is read in pieces of this length.
inline constexpr std::uint32_t kPieceBytes = 65'536;

// A chunk is a whole number of pieces. `drive` outlives the sweep.
[[nodiscard]] SweepOptions bulk_reading(const DriveContext& drive, MonoMs deadline);

}  // namespace reclaim::nvme
