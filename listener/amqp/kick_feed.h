// KickFeed: a delivery from the bus becomes kicks on the streams of the hosts it concerns, and is
// settled only after they are durable. The listeners of all hosts compete on one queue; whoever
// gets a message dispatches it for everybody.
//
// Thread: the loop's. Owns the deliveries that wait for Redis; RabbitMQ's prefetch bounds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "handlers/bus/kick.h"
#include "listener/amqp/kick_push.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/timers.h"
#include "state/device/store.h"

namespace reclaim::listener {

struct KickFeedCounters {
  std::uint64_t kicks = 0;  // messages that became kicks
  std::uint64_t ignored = 0;
  std::uint64_t rejected = 0;
};

class KickFeed final {
 public:
  // `survey_delays_s`: when to look after an event that may have freed a device.
  KickFeed(Store& store, Timers& timers, Logger& log, std::size_t body_bytes_max,
           std::vector<int> survey_delays_s,
           std::function<void(std::uint64_t tag, std::uint64_t incarnation)> ack);

  // One delivery. `dead_letter` settles one that nobody can decode; it is called, if at all, before
  // take() returns.
  void take(std::string_view body, std::uint64_t tag, std::uint64_t incarnation,
            const std::function<void(std::string_view why)>& dead_letter);

  // Told when each message was sent that becomes a kick, as its sender's clock has it.
  void on_sent(std::function<void(WallMs sent_at)> told) { on_sent_ = std::move(told); }

  [[nodiscard]] const KickFeedCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t waiting() const { return push_.waiting(); }
  // Hosts that were named and never announced themselves.
  [[nodiscard]] std::uint64_t unknown_hosts() const { return push_.unknown_hosts(); }

 private:
  Logger& log_;
  std::function<void(std::uint64_t, std::uint64_t)> ack_;
  KickDecider decider_;
  std::vector<int> survey_delays_s_;
  KickPush push_;
  std::function<void(WallMs)> on_sent_;
  KickFeedCounters counters_;
};

}  // namespace reclaim::listener
