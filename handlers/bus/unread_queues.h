// Tells which queues hold messages that nobody reads, and since when: oslo.messaging's notifier
// declares a queue TOPIC.PRIORITY for each key that it sends to, without a bound, whoever listens.
// Where nobody reads it, it grows until the broker has no memory left.
//
// Thread: the loop's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "state/base/bus_queue.h"
#include "state/base/clock.h"

namespace reclaim {

// A reader that starts again is back before this.
inline constexpr std::int64_t kUnreadForMs = 3'600'000;

// The remedy for one, as doctor and status say it.
inline constexpr const char* kUnreadRemedy =
    "Nova's notifier declares it, and Reclaim has a queue of its own: bound it with `rabbitmqctl "
    "set_policy` (README, Configuration), or, if nothing else ever reads it, name its topic in "
    "[listener] drain";

class UnreadQueues final {
 public:
  // A look that went through: all queues that it found.
  void seen(const std::vector<BusQueue>& queues, WallMs now);

  // The queues that every look found unread since some time.
  [[nodiscard]] std::vector<std::string> names() const;
  // The first time of the one that is unread the longest; 0: there is none.
  [[nodiscard]] WallMs since() const;

 private:
  std::map<std::string, WallMs> since_;
};

}  // namespace reclaim
