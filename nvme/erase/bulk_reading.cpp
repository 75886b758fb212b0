#include "nvme/erase/bulk_reading.h"

#include <algorithm>

namespace reclaim::nvme {

SweepOptions bulk_reading(const DriveContext& drive, MonoMs deadline) {
  SweepOptions how;
  how.queue_depth = drive.options.verify_queue_depth;
  how.chunk_bytes =
      std::max<std::uint64_t>(drive.options.verify_chunk_bytes / kPieceBytes, 1) * kPieceBytes;
  how.deadline = deadline;
  how.stall_timeout_ms = drive.options.verify_stall_timeout_ms;
  how.report_interval_ms = drive.options.poll_interval_ms;
  how.rates = drive.host_rates();
  return how;
}

}  // namespace reclaim::nvme
