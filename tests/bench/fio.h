// Debian's fio over all drives at once: what io_uring would write, beside as many threads as the
// worker has a drive. Both by one program, so that the difference is the kernel's interface.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/media_bench.h"

namespace reclaim::nvme {

// Eight writes of 1 MiB in flight a drive, past the page cache.
enum class FioEngine {
  io_uring,  // one ring a drive, with a fixed buffer and file
  threads,   // eight of them a drive, each with pwrite
};

struct FioRun {
  double bytes_per_s = 0;  // by fio's own clock: its start does not count
  double processor_s = 0;  // with its start, and the kernel's own threads for it
};

[[nodiscard]] bool fio_is_installed();
// Zeroes `targets`; nothing where fio fails, as where a container forbids io_uring.
[[nodiscard]] std::optional<FioRun> run_fio(const std::vector<Target>& targets, FioEngine engine);

}  // namespace reclaim::nvme
