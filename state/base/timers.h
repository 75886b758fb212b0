// Timers: the seam to time's passing. Real over libuv (state/base/uv_timers.h), virtual in the
// simulation.
#pragma once

#include <cstdint>

#include "state/base/callback.h"

namespace reclaim {

// Thread: the loop's.
class Timers {
 public:
  virtual ~Timers() = default;
  // Calls once after `delay_ms`, unless cancelled; never inside after(). The id is never 0.
  virtual std::uint64_t after(std::int64_t delay_ms, Once<> on_fire) = 0;
  virtual void cancel(std::uint64_t id) = 0;
};

}  // namespace reclaim
