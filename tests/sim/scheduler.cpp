#include "tests/sim/scheduler.h"

#include <algorithm>
#include <utility>

namespace reclaim::sim {

Now Scheduler::now() const {
  return Now{WallMs{wall_offset_ms_ + now_ms_}, MonoMs{now_ms_}};
}

void Scheduler::push(Item item) {
  // Things due at the same millisecond happen in no particular order.
  item.tie = rng_.next();
  heap_.push_back(std::move(item));
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

std::uint64_t Scheduler::after(std::int64_t delay_ms, Once<> on_fire) {
  const std::uint64_t id = next_timer_++;
  live_timers_.insert(id);
  push(Item{now_ms_ + std::max<std::int64_t>(delay_ms, 0), 0, worker_, id, std::move(on_fire)});
  return id;
}

void Scheduler::cancel(std::uint64_t id) {
  live_timers_.erase(id);
}

void Scheduler::outside(std::int64_t delay_ms, Once<> what) {
  push(Item{now_ms_ + delay_ms, 0, 0, 0, std::move(what)});
}

void Scheduler::answer(std::int64_t delay_ms, Once<> what) {
  push(Item{now_ms_ + delay_ms, 0, worker_, 0, std::move(what)});
}

void Scheduler::answer_in_order(std::int64_t& line, std::int64_t delay_ms, Once<> what) {
  line = std::max(line + 1, now_ms_ + delay_ms);
  push(Item{line, 0, worker_, 0, std::move(what)});
}

std::vector<std::int64_t> Scheduler::pending_ms() const {
  std::vector<std::int64_t> out;
  for (const Item& item : heap_) {
    if (item.worker != 0 && item.worker != worker_) continue;
    if (item.timer != 0 && !live_timers_.contains(item.timer)) continue;
    out.push_back(item.at_ms - now_ms_);
  }
  return out;
}

bool Scheduler::step(std::int64_t until_ms) {
  while (!heap_.empty() && heap_.front().at_ms <= until_ms) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    const Item item = std::move(heap_.back());
    heap_.pop_back();
    if (item.worker != 0 && item.worker != worker_) continue;
    if (item.timer != 0 && live_timers_.erase(item.timer) == 0) continue;
    now_ms_ = std::max(now_ms_, item.at_ms);
    steps_ += 1;
    const CallsOwed owed(true);
    item.what();
    return true;
  }
  now_ms_ = std::max(now_ms_, until_ms);
  return false;
}

}  // namespace reclaim::sim
