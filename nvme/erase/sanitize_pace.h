// Decides when a running sanitize is looked at again: seldom while much is left, often near its
// end, so that what follows begins soon after the drive has finished. Pure. Thread: one.
#pragma once

#include <cstdint>
#include <optional>

#include "state/base/clock.h"

namespace reclaim::nvme {

// One sanitize as the looks so far have shown it.
struct SanitizeSeen {
  std::int64_t elapsed_ms = 0;  // since the first look
  // Time until SPROG would be at its end, at the rate of all its movement so far. Below zero: it
  // should have ended so long ago. Nothing: SPROG has not moved yet, as with drives that leave it.
  std::optional<std::int64_t> left_ms;
};

// The pause before the next look, 20 ms to `most_ms` (at most that, where it is shorter): a quarter
// of what is left. Where the estimate was too early, a quarter of what it is overdue; where there
// is none, a quarter of the time elapsed. So the looks that an erase takes grow with the logarithm
// of its length, not with how wrong the drive's progress is.
[[nodiscard]] std::int64_t pause_ms(const SanitizeSeen& seen, std::int64_t most_ms);

// Follows the readings of one sanitize.
class SanitizePace final {
 public:
  explicit SanitizePace(std::int64_t most_ms) : most_ms_(most_ms) {}

  // A reading in which the sanitize runs.
  void saw(std::uint16_t sprog, MonoMs now);
  // The pause before the next look, whether or not the log could be read now.
  [[nodiscard]] std::int64_t next_ms(MonoMs now);

 private:
  struct Reading {
    std::uint16_t sprog = 0;
    MonoMs at;
  };

  std::int64_t most_ms_;
  std::optional<MonoMs> begun_;
  std::optional<Reading> first_;  // where its movement began
  std::optional<Reading> moved_;  // the last one that differs from the one before
};

}  // namespace reclaim::nvme
