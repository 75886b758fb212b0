#include "state/base/uv_timers.h"

#include <utility>

namespace reclaim {

std::uint64_t UvTimers::after(std::int64_t delay_ms, Once<> on_fire) {
  const std::uint64_t id = ++last_id_;
  Waiting& waiting = waiting_.try_emplace(id, loop_).first->second;
  waiting.on_fire = std::move(on_fire);
  waiting.timer.after(delay_ms, [this, id] {
    // Out of the map first: the callback may be the end of these timers.
    const auto fired = waiting_.extract(id);
    fired.mapped().on_fire();
  });
  return id;
}

void UvTimers::cancel(std::uint64_t id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  found->second.on_fire.drop();
  waiting_.erase(found);
}

void UvTimers::cancel_all() {
  while (!waiting_.empty()) cancel(waiting_.begin()->first);
}

}  // namespace reclaim
