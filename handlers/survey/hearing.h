// Watches whether the bus tells of what the surveys find: tenancies that end without a notification
// near their end, and none since, are the sign of a service that sends none, or none that is heard.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <optional>

#include "state/base/clock.h"

namespace reclaim {

// So long an event and the survey that sees what it is about may be apart, one way or the other.
inline constexpr std::int64_t kHeardNearMs = 600'000;

class Hearing final {
 public:
  // A notification came, whatever it was about.
  void heard(MonoMs now) {
    heard_at_ = now;
    unheard_ends_ = 0;
    unheard_since_ = {};
  }
  // A survey found that a tenancy was over.
  void ended(Now now) {
    if (heard_at_ && now.mono.ms - heard_at_->ms < kHeardNearMs) return;
    if (unheard_ends_++ == 0) unheard_since_ = now.wall;
  }
  // The ends of which nothing was heard, since the last notification or the worker's start: how
  // many, and when the first was seen; 0: none.
  [[nodiscard]] std::uint32_t unheard_ends() const { return unheard_ends_; }
  [[nodiscard]] WallMs unheard_since() const { return unheard_since_; }

 private:
  std::optional<MonoMs> heard_at_;
  std::uint32_t unheard_ends_ = 0;
  WallMs unheard_since_;
};

}  // namespace reclaim
