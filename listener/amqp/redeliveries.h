// Redeliveries: what RabbitMQ delivers again may be what ended the worker that had it. The broker's
// flag alone does not tell: everything a lost connection held comes with it. So messages that come
// again are read one at a time, each after a mark in Redis that all workers of the fleet see and
// that is taken away once the message was read. Where the mark stands already, a worker has died
// with the message: it goes to the dead letters and is not read. A message ends two workers at
// most, the first and one that read it again, and messages that come for the first time cost
// nothing.
//
// A worker that is killed for another reason in the moment between mark and reading sends one
// innocent message to the dead letters; the periodic survey makes that good.
//
// Thread: the loop's. Owns copies of what waits, up to kWaitingBytesMax; more is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "listener/amqp/delivery.h"
#include "state/base/log.h"
#include "state/base/timers.h"
#include "state/device/in_hand.h"

namespace reclaim::listener {

inline constexpr std::size_t kWaitingBytesMax = std::size_t{32} << 20U;

// Each delivery is handed to exactly one of these, once, unless its connection is gone before.
struct RedeliverySettle {
  std::function<void(const AmqpDelivery&)> read;
  std::function<void(const AmqpDelivery&, std::string_view why)> set_aside;  // without reading it
};

class Redeliveries final {
 public:
  // `marks`, `timers` and `log` outlive it.
  Redeliveries(InHand& marks, Timers& timers, Logger& log, RedeliverySettle settle)
      : marks_(marks), timers_(timers), log_(log), settle_(std::move(settle)) {}

  void take(const AmqpDelivery& delivery);

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  // Messages that were set aside.
  [[nodiscard]] std::uint64_t set_aside() const { return set_aside_; }

 private:
  struct Waiting {
    AmqpDelivery delivery;  // its views are of the texts below, put in by view()
    std::string exchange;
    std::string routing_key;
    std::string body;

    [[nodiscard]] AmqpDelivery view() const;
  };

  void next();
  void marked(std::uint64_t round, const std::string& name, const Result<bool>& fresh);
  void set_one_aside(const AmqpDelivery& delivery, std::string_view why);

  InHand& marks_;
  Timers& timers_;
  Logger& log_;
  RedeliverySettle settle_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t incarnation_ = 0;
  std::uint64_t round_ = 0;  // an answer of an older one is nobody's
  std::uint64_t set_aside_ = 0;
  bool asking_ = false;
};

}  // namespace reclaim::listener
