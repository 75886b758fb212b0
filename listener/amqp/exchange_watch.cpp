#include "listener/amqp/exchange_watch.h"

#include <algorithm>

#include "listener/amqp/connector.h"
#include "listener/amqp/topology.h"

namespace reclaim::listener {

AmqpExchangeWatch::AmqpExchangeWatch(const AmqpOptions& options, amqp_connection_state_t connection,
                                     std::vector<std::string> missing)
    : options_(options), connection_(connection), missing_(std::move(missing)) {}

Status AmqpExchangeWatch::send(amqp_method_number_t id, void* method) {
  return send_method(connection_, kWatchChannel, id, method);
}

Status AmqpExchangeWatch::open() {
  step_ = Step::opening;
  amqp_channel_open_t method{};
  method.out_of_band = amqp_empty_bytes;
  return send(AMQP_CHANNEL_OPEN_METHOD, &method);
}

Status AmqpExchangeWatch::declare() {
  step_ = Step::declaring;
  amqp_exchange_declare_t method{};
  method.exchange = bytes(missing_[exchange_]);
  method.type = amqp_cstring_bytes("topic");
  method.passive = 1;
  method.arguments = amqp_empty_table;
  return send(AMQP_EXCHANGE_DECLARE_METHOD, &method);
}

Status AmqpExchangeWatch::bind() {
  step_ = Step::binding;
  amqp_queue_bind_t method{};
  method.queue = bytes(options_.queue);
  method.exchange = bytes(missing_[exchange_]);
  method.routing_key = bytes(options_.routing_keys[key_]);
  method.arguments = amqp_empty_table;
  return send(AMQP_QUEUE_BIND_METHOD, &method);
}

Status AmqpExchangeWatch::look() {
  if (step_ != Step::idle || missing_.empty()) return Ok{};
  exchange_ = 0;
  trouble_.clear();
  return open_ ? declare() : open();
}

Result<AmqpExchangeWatch::Progress> AmqpExchangeWatch::working(const Status& sent) const {
  if (!sent) return sent.error();
  return Progress::working;
}

Result<AmqpExchangeWatch::Progress> AmqpExchangeWatch::next_exchange(bool channel_open) {
  open_ = channel_open;
  if (exchange_ < missing_.size()) return working(channel_open ? declare() : open());
  step_ = Step::idle;
  pause_ms_ = std::min<std::int64_t>(2 * pause_ms_, options_.exchange_wait_max_ms);
  return Progress::working;
}

Result<AmqpExchangeWatch::Progress> AmqpExchangeWatch::closed(const amqp_method_t& method) {
  const auto* close = static_cast<amqp_channel_close_t*>(method.decoded);
  if (close->reply_code != AMQP_NOT_FOUND) {
    trouble_ = closed_error(close->reply_code, close->reply_text)
                   .wrap("exchange '" + missing_[exchange_] + "'")
                   .what;
  }
  amqp_channel_close_ok_t ok{};
  const Status sent = send(AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
  if (!sent) return sent.error();
  ++exchange_;
  return next_exchange(false);
}

Result<AmqpExchangeWatch::Progress> AmqpExchangeWatch::on_method(const amqp_method_t& method) {
  const auto out_of_turn = [] {
    return Error{Errc::unavailable, "the broker answered out of turn on the watching channel"};
  };
  if (step_ == Step::idle) return out_of_turn();
  switch (method.id) {
    case AMQP_CHANNEL_OPEN_OK_METHOD:
      if (step_ != Step::opening) return out_of_turn();
      open_ = true;
      return working(declare());
    case AMQP_EXCHANGE_DECLARE_OK_METHOD:
      if (step_ != Step::declaring) return out_of_turn();
      key_ = 0;
      return working(bind());
    case AMQP_QUEUE_BIND_OK_METHOD: {
      if (step_ != Step::binding) return out_of_turn();
      if (++key_ < options_.routing_keys.size()) return working(bind());
      last_bound_ = missing_[exchange_];
      missing_.erase(missing_.begin() + static_cast<std::ptrdiff_t>(exchange_));
      Result<Progress> next = next_exchange(true);
      if (!next) return next.error();
      return Progress::bound;
    }
    case AMQP_CHANNEL_CLOSE_METHOD:
      return closed(method);
    default:
      return out_of_turn();
  }
}

}  // namespace reclaim::listener
