// Virtual time. Whatever happens in a world is an item of this queue; one item is one step, and
// between any two of them the worker may die. What was meant for a worker that died is dropped, as
// its process's callbacks are.
#pragma once

#include <cstdint>
#include <queue>
#include <set>
#include <vector>

#include "state/base/clock.h"
#include "state/base/timers.h"
#include "tests/sim/rng.h"

namespace reclaim::sim {

class Scheduler final : public Clock, public Timers {
 public:
  explicit Scheduler(Rng& rng) : rng_(rng) {}

  [[nodiscard]] Now now() const override;
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  // Somebody sets the wall clock.
  void shift_wall_clock(std::int64_t by_ms) {
    wall_offset_ms_ += by_ms;
    wall_clock_set_ = true;
  }
  [[nodiscard]] bool is_wall_clock_set() const { return wall_clock_set_; }

  // Timers of the worker now running.
  std::uint64_t after(std::int64_t delay_ms, Once<> on_fire) override;
  void cancel(std::uint64_t id) override;

  // The outside world's doings: survive the worker's death.
  void outside(std::int64_t delay_ms, Once<> what);
  // An answer to the worker now running; dropped when it is gone by then. Never at once.
  void answer(std::int64_t delay_ms, Once<> what);
  // The same in the order asked: never before what was queued on `line` earlier.
  void answer_in_order(std::int64_t& line, std::int64_t delay_ms, Once<> what);

  [[nodiscard]] std::uint64_t worker() const { return worker_; }
  // From here on answers belong to a new worker (or to none).
  void worker_died() { worker_ += 1; }

  // Takes the next step, if there is one at or before `until_ms`; the clock moves there otherwise.
  bool step(std::int64_t until_ms);
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // In how many milliseconds each thing that is still to come is due.
  [[nodiscard]] std::vector<std::int64_t> pending_ms() const;

 private:
  struct Item {
    std::int64_t at_ms = 0;
    std::uint64_t tie = 0;
    std::uint64_t worker = 0;  // 0: the outside world's
    std::uint64_t timer = 0;
    Once<> what;
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const {
      return a.at_ms != b.at_ms ? a.at_ms > b.at_ms : a.tie > b.tie;
    }
  };
  void push(Item item);

  Rng& rng_;
  std::int64_t now_ms_ = 1'000;
  std::int64_t wall_offset_ms_ = 1'763'640'000'000;
  bool wall_clock_set_ = false;
  std::uint64_t worker_ = 1;
  std::uint64_t next_timer_ = 1;
  std::uint64_t steps_ = 0;
  std::set<std::uint64_t> live_timers_;
  std::vector<Item> heap_;
};

}  // namespace reclaim::sim
