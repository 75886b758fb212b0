// Limits how fast bytes may be moved: one limit for a drive, one shared by all drives of the host.
// Thread: any; it has a lock of its own.
#pragma once

#include <cstdint>
#include <mutex>

#include "state/base/clock.h"

namespace reclaim::nvme {

class RateLimit final {
 public:
  // 0: no limit. `clock` outlives the object.
  RateLimit(std::uint64_t bytes_per_s_max, const Clock& clock)
      : bytes_per_s_max_(bytes_per_s_max), clock_(clock) {}

  // Counts `bytes` and says how many milliseconds to wait before they may be moved. Whoever is told
  // to wait is served in the order of asking; time that nobody used is not saved up.
  [[nodiscard]] std::int64_t reserve_ms(std::uint64_t bytes);

 private:
  const std::uint64_t bytes_per_s_max_;
  const Clock& clock_;
  std::mutex mutex_;
  std::int64_t free_at_us_ = 0;  // monotonic
};

}  // namespace reclaim::nvme
