// Decides when the host is surveyed. The periodic survey has a clock of its own, which nothing else
// puts off; whoever wants one besides gets it soon, together with his likes, and `spacing_ms` after
// the end of the one before, so that no flood of events becomes one of requests. Who is in a hurry
// goes into that pause once: what he saves is owed, and only pauses that nobody uses pay it back.
// So hurry adds one survey to a flood, however long that is. After one that took longer than
// `spacing_ms` the pause is as long as it took, and up to half of that more, and nobody goes into
// it: a Placement that answers slowly is asked less, and the hosts of a fleet keep apart.
//
// Thread: the loop's. Owns its timer and what is due.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "state/base/clock.h"
#include "state/base/timers.h"

namespace reclaim {

class SurveySchedule final {
 public:
  struct Times {
    std::int64_t interval_ms = 60'000;
    std::int64_t jitter_ms = 6'000;
    std::int64_t spacing_ms = 2'000;
  };

  // `run` begins a survey, and its end is told by ended(). `seed` keeps the hosts of a fleet apart.
  SurveySchedule(Timers& timers, const Clock& clock, Times times, std::uint64_t seed,
                 std::function<void(bool periodic)> run);

  // The first periodic survey, at any time within `within_ms`, or the interval if that is less:
  // hosts that start at once do not begin together. Nothing, where somebody wanted one before.
  void begin(std::int64_t within_ms);
  // A survey `delay_ms` from now, an hour at most. However many are wanted, few are remembered.
  // `for_instance`: only to catch the end of that instance's allocation; dropped by settle(). The
  // first one ever is a periodic one.
  void want(std::int64_t delay_ms, const std::string& for_instance = "");
  // One at once, where that is not owed yet; otherwise as want(0).
  void want_at_once();
  // Once the instance's device was found free, there is nothing left to wait for.
  void settle(const std::string& instance);
  // The survey that was begun is over; failed: after `retry_ms`, and up to half of that more, it is
  // wanted again as the same kind.
  void ended();
  void failed(std::int64_t retry_ms);
  // No more of them.
  void stop();
  // The number of surveys that are remembered.
  [[nodiscard]] std::size_t wanted() const { return due_.size(); }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kCoalesceMs = 200;        // wanted so close together they are one
  static constexpr std::int64_t kDelayMaxMs = 3'600'000;  // no event frees a device later than this
  static constexpr std::size_t kCrowd = 300;              // as many stand apart by instance

  void arm();
  void fire();
  void go_into_pause(std::int64_t now_ms);
  [[nodiscard]] bool is_slow(std::int64_t took_ms) const { return took_ms > times_.spacing_ms; }
  [[nodiscard]] std::int64_t pause_after(std::int64_t took_ms);
  [[nodiscard]] std::int64_t up_to_half_more(std::int64_t ms);
  [[nodiscard]] std::int64_t next_interval();
  [[nodiscard]] std::int64_t at_random(std::int64_t below_ms);

  Timers& timers_;
  const Clock& clock_;
  const Times times_;
  std::uint64_t jitter_state_;
  std::function<void(bool periodic)> run_;
  std::set<std::pair<std::int64_t, std::string>> due_;  // monotonic ms, instance or ""
  std::int64_t periodic_due_ = kNever;                  // until begin()
  bool spread_ = false;                                 // the second periodic survey has its time
  std::int64_t began_ms_ = 0;                           // the one that is running, or ran last
  std::int64_t not_before_ = 0;
  std::int64_t paid_until_ = 0;  // by then every survey had its pause
  bool hurried_ = false;         // the next one is
  bool slow_ = false;            // the last one was
  std::uint64_t timer_ = 0;
  bool running_ = false;
  bool periodic_ = false;  // the one that is running, or ran last
  bool stopped_ = false;
};

}  // namespace reclaim
