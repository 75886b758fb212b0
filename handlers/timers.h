// Timers: the seam to time's passing. Real over libuv, virtual in the simulation.
#pragma once

#include <cstdint>
#include <functional>

namespace reclaim {

// Thread: the loop's.
class Timers {
 public:
  virtual ~Timers() = default;
  // Calls once after `delay_ms`, unless cancelled. The id is never 0.
  virtual std::uint64_t after(std::int64_t delay_ms, std::function<void()> on_fire) = 0;
  virtual void cancel(std::uint64_t id) = 0;
};

}  // namespace reclaim
