// Timers over the libuv loop. Thread: the loop's. Owns one uv timer for each call that waits.
#pragma once

#include <map>
#include <memory>

#include "handlers/timers.h"
#include "state/base/uv.h"

namespace reclaim::listener {

class UvTimers final : public Timers {
 public:
  explicit UvTimers(uv_loop_t* loop) : loop_(loop) {}

  std::uint64_t after(std::int64_t delay_ms, std::function<void()> on_fire) override;
  void cancel(std::uint64_t id) override;
  // At shutdown: nothing fires any more.
  void cancel_all() { timers_.clear(); }

 private:
  uv_loop_t* loop_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<uv::Timer>> timers_;
};

}  // namespace reclaim::listener
