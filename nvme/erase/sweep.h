// One pass over stretches of the media in chunks, several at a time: zeroing and full reads. The
// calling thread watches (stop, deadline, stall, progress), threads of the sweep's own do the work.
// Blocking; it never returns before the last of its threads has ended, so that nothing is moved on
// a drive that was given up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/erase/rate_limit.h"
#include "nvme/stop_flag.h"
#include "nvme/verify/sampling.h"
#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct SweepOptions {
  std::size_t queue_depth = 8;              // chunks in flight
  std::uint64_t chunk_bytes = 1U << 20U;    // at most
  MonoMs deadline;                          // no chunk is begun later
  std::int64_t stall_timeout_ms = 600'000;  // a chunk in flight and none ended for so long
  std::int64_t report_interval_ms = 1'000;
  std::vector<RateLimit*> rates;  // all are obeyed; outlive the sweep
  // `on_mark` is told now and then, on the calling thread, how many bytes in a row are done; none:
  // not told.
  std::int64_t mark_interval_ms = 10'000;
  std::function<void(std::uint64_t bytes_in_row)> on_mark = nullptr;
};

enum class SweepEnd : std::uint8_t { done, failed, stopped, late, stalled };

struct SweepResult {
  SweepEnd end = SweepEnd::done;
  std::uint64_t bytes_done = 0;    // in chunks that ended well
  std::uint64_t bytes_in_row = 0;  // of these, from the beginning on without a gap
  std::uint64_t bytes_begun = 0;   // handed to the work, whatever became of them
  Error error{Errc::failed, {}};   // of the first chunk that failed, with SweepEnd::failed
};

// `work(worker, chunk)` moves one chunk; `worker` is below queue_depth and tells buffers apart. It
// is called from several threads at once. Progress is told on the calling thread, with the time
// left as measured so far.
using SweepWork = std::function<Status(std::size_t worker, const Place& chunk)>;

[[nodiscard]] SweepResult sweep(const std::vector<Stretch>& stretches, const SweepOptions& options,
                                const SweepWork& work,
                                const std::function<void(EraseProgress)>& on_progress,
                                const Clock& clock, StopFlag& stop);

}  // namespace reclaim::nvme
