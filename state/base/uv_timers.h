// Timers over the libuv loop. Thread: the loop's. Owns one uv timer for each call that waits.
#pragma once

#include <map>

#include "state/base/timers.h"
#include "state/base/uv.h"

namespace reclaim {

class UvTimers final : public Timers {
 public:
  explicit UvTimers(uv_loop_t* loop) : loop_(loop) {}
  ~UvTimers() override { cancel_all(); }
  UvTimers(const UvTimers&) = delete;
  UvTimers& operator=(const UvTimers&) = delete;

  std::uint64_t after(std::int64_t delay_ms, Once<> on_fire) override;
  void cancel(std::uint64_t id) override;
  // Cancels all at shutdown: nothing fires any more.
  void cancel_all();

 private:
  struct Waiting {
    explicit Waiting(uv_loop_t* loop) : timer(loop) {}
    uv::Timer timer;
    Once<> on_fire;
  };

  uv_loop_t* loop_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace reclaim
