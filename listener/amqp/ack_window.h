// Knows the deliveries of one channel that are still out, and up to where they can be acked at
// once. RabbitMQ numbers the deliveries of a channel 1, 2, 3, ...; `basic.ack multiple` settles
// everything up to a tag, so a tag is acked only when all before it are settled too. A delivery
// that stays unsettled therefore holds the acks behind it back, and the prefetch bound fills up:
// that is how deliveries wait in RabbitMQ while Redis is down. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace reclaim::listener {

class AckWindow final {
 public:
  // A new channel: nothing is out, the next tag is 1.
  void reset();

  // False: not the tag that comes next, so the peer does not speak AMQP as RabbitMQ does.
  [[nodiscard]] bool delivered(std::uint64_t tag);
  // False: not out, or settled before.
  [[nodiscard]] bool settle(std::uint64_t tag);

  // The highest tag up to which all are settled; 0 before the first.
  [[nodiscard]] std::uint64_t settled_through() const { return settled_through_; }
  // Counts the settled tags of which the broker has not been told.
  [[nodiscard]] std::size_t unsent() const {
    return static_cast<std::size_t>(settled_through_ - sent_through_);
  }
  void sent() { sent_through_ = settled_through_; }
  // Delivered and not settled, or settled behind one that is not.
  [[nodiscard]] std::size_t outstanding() const { return settled_.size(); }

 private:
  std::uint64_t sent_through_ = 0;
  std::uint64_t settled_through_ = 0;
  std::deque<bool> settled_;  // [i] is tag settled_through_ + 1 + i
};

}  // namespace reclaim::listener
