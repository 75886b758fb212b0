#include "listener/amqp/redeliveries.h"

#include <utility>

#include "state/base/uuid.h"

namespace reclaim::listener {
namespace {

constexpr std::int64_t kRetryMs = 1'000;

}  // namespace

AmqpDelivery Redeliveries::Waiting::view() const {
  AmqpDelivery out = delivery;
  out.exchange = exchange;
  out.routing_key = routing_key;
  out.body = body;
  return out;
}

void Redeliveries::take(const AmqpDelivery& delivery) {
  if (delivery.incarnation != incarnation_) {
    // A new connection: what waited for the old one is delivered again.
    incarnation_ = delivery.incarnation;
    waiting_.clear();
    waiting_bytes_ = 0;
    round_ += 1;
    asking_ = false;
  }
  // One that is too long has no body that could be read.
  if (!delivery.redelivered || delivery.oversized) return settle_.read(delivery);
  if (waiting_bytes_ + delivery.body.size() > kWaitingBytesMax) {
    return set_one_aside(delivery, "delivered again, and too much waits to be read with care");
  }
  waiting_bytes_ += delivery.body.size();
  waiting_.push_back({delivery, std::string(delivery.exchange), std::string(delivery.routing_key),
                      std::string(delivery.body)});
  next();
}

void Redeliveries::next() {
  if (asking_ || waiting_.empty()) return;
  asking_ = true;
  const std::string name = message_uuid(waiting_.front().body);
  marks_.mark_in_hand(name, [this, round = round_, name](const Result<bool>& fresh) {
    marked(round, name, fresh);
  });
}

void Redeliveries::marked(std::uint64_t round, const std::string& name, const Result<bool>& fresh) {
  if (round != round_) {
    // Nothing is read of it here, and it comes again.
    if (fresh && *fresh) marks_.clear_in_hand(name, [](const Result<Ok>& /*cleared*/) {});
    return;
  }
  if (!fresh) {
    log_.warning(log_name::kListener, "messages that were delivered again wait for Redis",
                 {{"why", fresh.error().what}});
    timers_.after(kRetryMs, [this, round] {
      if (round != round_) return;
      asking_ = false;
      next();
    });
    return;
  }
  const Waiting front = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= front.body.size();
  if (*fresh) {
    settle_.read(front.view());
    marks_.clear_in_hand(name, [](const Result<Ok>& /*cleared*/) {});
  } else {
    set_one_aside(front.view(), "a worker died while it read this message; it is not read again");
  }
  asking_ = false;
  next();
}

void Redeliveries::set_one_aside(const AmqpDelivery& delivery, std::string_view why) {
  set_aside_ += 1;
  log_.error(log_name::kListener, "a message is set aside unread", {{"why", std::string(why)}});
  settle_.set_aside(delivery, why);
}

}  // namespace reclaim::listener
