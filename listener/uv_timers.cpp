#include "listener/uv_timers.h"

#include <algorithm>
#include <utility>

namespace reclaim::listener {

std::uint64_t UvTimers::after(std::int64_t delay_ms, std::function<void()> on_fire) {
  const std::uint64_t id = ++last_id_;
  auto timer = std::make_unique<uv::Timer>(loop_);
  timer->start(static_cast<std::uint64_t>(std::max<std::int64_t>(delay_ms, 0)), 0,
               [this, id, on_fire = std::move(on_fire)] {
                 timers_.erase(id);
                 on_fire();
               });
  timers_.emplace(id, std::move(timer));
  return id;
}

void UvTimers::cancel(std::uint64_t id) {
  timers_.erase(id);
}

}  // namespace reclaim::listener
