// The link's reading and writing on the loop.
#include <fmt/core.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "handlers/bus/notification.h"
#include "listener/amqp/link.h"

namespace reclaim::listener {
namespace {

constexpr std::uint64_t kReadBudgetNs = 2'000'000;
constexpr std::size_t kPublishOverheadBytes = 4'096;

}  // namespace

std::size_t AmqpLink::ack_batch() const {
  const int half = std::max(1, options_.prefetch / 2);
  return static_cast<std::size_t>(std::min(options_.ack_batch, half));
}

// A socket that can be written to has room for a third of its buffer, thousands of small frames;
// for a bigger one the kernel is asked how much it still holds.
bool AmqpLink::has_room(std::size_t frame_bytes) const {
  pollfd descriptor{};
  descriptor.fd = amqp_get_sockfd(connection_.get());
  descriptor.events = POLLOUT;
  if (descriptor.fd < 0) return true;  // closed already: the write tells
  if (::poll(&descriptor, 1, 0) != 1) return false;
  if (frame_bytes <= kSmallFrameBytes) return true;
  int held = 0;
  int buffer = 0;
  socklen_t size = sizeof buffer;
  if (::ioctl(descriptor.fd, SIOCOUTQ, &held) != 0 ||
      ::getsockopt(descriptor.fd, SOL_SOCKET, SO_SNDBUF, &buffer, &size) != 0) {
    return true;
  }
  // The kernel doubles what was asked for, to account for its own bookkeeping.
  return held == 0 || static_cast<std::size_t>(std::max(0, buffer / 2 - held)) >= frame_bytes;
}

void AmqpLink::pump() {
  if (connection_ == nullptr || pumping_) return;
  pumping_ = true;
  Status status = Ok{};
  cancelled_by_broker_ = false;
  if (has_room(kSmallFrameBytes)) {
    if (full_since_ms_ != 0) poll_->watch(UV_READABLE);
    full_since_ms_ = 0;
    status = read_frames();
    if (status) status = publish_what_waits();
    if (status && window_.unsent() >= ack_batch()) status = send_ack();
  } else {
    // Reading may send a heartbeat, which would wait. The peer does not read; see whether it ever
    // does.
    poll_->watch(0);
    const std::uint64_t now_ms = uv_now(loop_);
    if (full_since_ms_ == 0) full_since_ms_ = now_ms;
    const int heartbeat_s = amqp_get_heartbeat(connection_.get());
    const std::uint64_t patience_ms =
        2'000ULL * static_cast<std::uint64_t>(heartbeat_s > 0 ? heartbeat_s : 60);
    if (now_ms - full_since_ms_ > patience_ms) {
      status = Error{Errc::unavailable, "the broker reads nothing any more"};
    }
  }
  pumping_ = false;
  if (!status) return fail(status.error(), cancelled_by_broker_);
  write_later();
}

Status AmqpLink::read_frames() {
  const std::uint64_t until_ns = uv_hrtime() + kReadBudgetNs;
  for (unsigned count = 1;; ++count) {
    amqp_frame_t frame{};
    const timeval now{};
    const int result = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &now);
    if (result == AMQP_STATUS_TIMEOUT) return Ok{};
    if (result != AMQP_STATUS_OK) return library_error(result);
    Status handled = check_channel(frame, kQueueChannel);
    if (handled) handled = on_frame(frame);
    if (!handled) return handled;
    amqp_maybe_release_buffers_on_channel(connection_.get(), frame.channel);
    if (window_.unsent() >= ack_batch() && has_room(kSmallFrameBytes)) {
      const Status acked = send_ack();
      if (!acked) return acked;
    }
    if (count % 16 == 0 && uv_hrtime() > until_ns) {
      more_timer_.after(0, [this] { pump(); });
      return Ok{};
    }
  }
}

Status AmqpLink::on_frame(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    if (frame.channel == 0) return on_connection_method(frame.payload.method);
    if (frame.channel == kWatchChannel) return on_watch_method(frame.payload.method);
    if (frame.channel == kQueueChannel) return on_queue_method(frame.payload.method);
    return on_consume_method(frame.payload.method);
  }
  if (frame.channel != kConsumeChannel) return Ok{};
  if (frame.frame_type != AMQP_FRAME_HEADER && frame.frame_type != AMQP_FRAME_BODY) return Ok{};
  const auto step = frame.frame_type == AMQP_FRAME_HEADER ? assembler_.on_header(frame)
                                                          : assembler_.on_body(frame);
  if (!step) return step.error();
  return *step == AmqpAssembler::Step::whole ? deliver() : Ok{};
}

Status AmqpLink::on_connection_method(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_CONNECTION_CLOSE_METHOD:
      return answer_close(connection_.get(), 0, method);
    case AMQP_CONNECTION_BLOCKED_METHOD: {
      const auto* blocked = static_cast<amqp_connection_blocked_t*>(method.decoded);
      state_.blocked = true;
      logger_.warning(log_name::kAmqp,
                      fmt::format("RabbitMQ takes no messages just now ({}); dead letters "
                                  "and answers wait",
                                  printable_excerpt(view(blocked->reason), 100)));
      tell_state();
      return Ok{};
    }
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      state_.blocked = false;
      logger_.info(log_name::kAmqp, "RabbitMQ takes messages again");
      tell_state();
      return Ok{};
    default:
      return Ok{};
  }
}

Status AmqpLink::on_consume_method(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD:
      return assembler_.on_deliver(*static_cast<amqp_basic_deliver_t*>(method.decoded));
    case AMQP_BASIC_CANCEL_METHOD:
      ++counters_.cancels;
      cancelled_by_broker_ = true;
      return Error{
          Errc::unavailable,
          fmt::format("the broker took the consumer of queue '{}' away; the queue was deleted "
                      "or is moving",
                      options_.queue)};
    case AMQP_CHANNEL_CLOSE_METHOD:
      return answer_close(connection_.get(), kConsumeChannel, method)
          .wrap("the channel was closed");
    default:
      return Ok{};
  }
}

Status AmqpLink::on_watch_method(const amqp_method_t& method) {
  if (!watch_) return Ok{};
  const Result<AmqpExchangeWatch::Progress> progress = watch_->on_method(method);
  if (!progress) return progress.error();
  if (*progress == AmqpExchangeWatch::Progress::bound) {
    logger_.info(log_name::kAmqp,
                 fmt::format("exchange '{}' is there now; queue '{}' is bound to it",
                             watch_->last_bound(), options_.queue));
    state_.missing_exchanges = watch_->missing();
    tell_state();
  }
  if (watch_->idle() && !watch_->trouble().empty())
    logger_.warning(log_name::kAmqp, watch_->trouble());
  if (watch_->done()) {
    watch_.reset();
  } else if (watch_->idle()) {
    watch_timer_.after(watch_->pause_ms(), [this] { look_for_exchanges(); });
  }
  return Ok{};
}

void AmqpLink::look_for_exchanges() {
  if (connection_ == nullptr || !watch_) return;
  if (!has_room(kSmallFrameBytes)) {
    watch_timer_.after(watch_->pause_ms(), [this] { look_for_exchanges(); });
    return;
  }
  const Status looked = watch_->look();
  if (!looked) fail(looked.error(), false);
}

Status AmqpLink::on_queue_method(const amqp_method_t& method) {
  if (!queue_watch_) return Ok{};
  const Result<AmqpQueueWatch::Progress> progress = queue_watch_->on_method(method);
  if (!progress) return progress.error();
  if (*progress != AmqpQueueWatch::Progress::done) return Ok{};
  counters_.drained += queue_watch_->drained();
  if (!queue_watch_->trouble().empty()) logger_.warning(log_name::kAmqp, queue_watch_->trouble());
  queue_timer_.after(options_.queue_look_ms, [this] { look_at_queues(); });
  if (callbacks_.on_queues) callbacks_.on_queues(queue_watch_->found());
  return Ok{};
}

void AmqpLink::look_at_queues() {
  if (!queue_watch_) return;
  if (!has_room(kSmallFrameBytes)) {
    queue_timer_.after(options_.queue_look_ms, [this] { look_at_queues(); });
    return;
  }
  const Status looked = queue_watch_->look();
  if (!looked) fail(looked.error(), false);
}

Status AmqpLink::deliver() {
  AmqpDelivery delivery = assembler_.delivery();
  delivery.incarnation = state_.incarnation;
  if (!window_.delivered(delivery.tag)) {
    return Error{Errc::unavailable, "the broker numbers its deliveries out of order"};
  }
  ++counters_.received;
  counters_.received_bytes += delivery.body_bytes;
  counters_.redelivered += delivery.redelivered ? 1 : 0;
  counters_.oversized += delivery.oversized ? 1 : 0;
  callbacks_.on_delivery(delivery);
  assembler_.trim();
  return Ok{};
}

void AmqpLink::ack(std::uint64_t tag, std::uint64_t incarnation) {
  if (connection_ == nullptr || incarnation != state_.incarnation || !window_.settle(tag)) {
    ++counters_.acks_dropped;
    return;
  }
  if (pumping_) return;  // the pump looks when the callback is back
  if (window_.unsent() >= ack_batch()) {
    write_what_is_due();
  } else {
    write_later();
  }
}

void AmqpLink::dead_letter(const AmqpDelivery& delivery, std::string_view why) {
  put_aside(delivery, why, clean_for_storage(delivery.body, options_.dead_letter_bytes_max));
}

void AmqpLink::dead_letter_unread(const AmqpDelivery& delivery, std::string_view why) {
  put_aside(delivery, why, unread_excerpt(delivery.body));
}

void AmqpLink::put_aside(const AmqpDelivery& delivery, std::string_view why, std::string body) {
  if (connection_ == nullptr || delivery.incarnation != state_.incarnation) {
    ++counters_.acks_dropped;
    return;
  }
  Outgoing letter;
  letter.tag = delivery.tag;
  letter.queue = options_.dead_letter_queue;
  letter.is_dead_letter = true;
  letter.why = printable_excerpt(why, 500);
  letter.exchange = printable_excerpt(delivery.exchange, 255);
  letter.routing_key = printable_excerpt(delivery.routing_key, 255);
  letter.body = std::move(body);
  outgoing_.push_back(std::move(letter));
  if (!pumping_) write_what_is_due();
}

void AmqpLink::answer(std::uint64_t tag, std::uint64_t incarnation, const std::string& queue,
                      std::string body) {
  if (connection_ == nullptr || incarnation != state_.incarnation) {
    ++counters_.acks_dropped;
    return;
  }
  Outgoing answer;
  answer.tag = tag;
  answer.queue = queue;
  answer.body = std::move(body);
  outgoing_.push_back(std::move(answer));
  if (!pumping_) write_what_is_due();
}

void AmqpLink::write_later() {
  const bool due = window_.unsent() > 0 || !outgoing_.empty() || full_since_ms_ != 0;
  if (!due || write_timer_.active()) return;
  write_timer_.after(options_.ack_delay_ms, [this] { write_what_is_due(); });
}

void AmqpLink::write_what_is_due() {
  if (connection_ == nullptr) return;
  if (full_since_ms_ != 0) {
    pump();
    if (connection_ == nullptr || full_since_ms_ != 0) return;
  }
  Status status = publish_what_waits();
  if (status && has_room(kSmallFrameBytes)) status = send_ack();
  if (!status) return fail(status.error(), false);
  write_later();
}

Status AmqpLink::publish_what_waits() {
  while (!outgoing_.empty() && !state_.blocked) {
    const Outgoing& message = outgoing_.front();
    if (!has_room(message.body.size() + kPublishOverheadBytes)) return Ok{};
    const Status published = publish(message);
    if (!published) return published;
    ++(message.is_dead_letter ? counters_.dead_lettered : counters_.answered);
    if (!window_.settle(message.tag)) ++counters_.acks_dropped;
    outgoing_.pop_front();
  }
  return Ok{};
}

Status AmqpLink::publish(const Outgoing& message) {
  std::array<amqp_table_entry_t, 3> headers{entry_of("reclaim-why", message.why),
                                            entry_of("reclaim-exchange", message.exchange),
                                            entry_of("reclaim-routing-key", message.routing_key)};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG |
                      AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.content_type = amqp_cstring_bytes("application/json");
  properties.content_encoding = amqp_cstring_bytes("utf-8");
  properties.delivery_mode = 2;
  if (message.is_dead_letter) {
    properties._flags |= AMQP_BASIC_HEADERS_FLAG;
    properties.headers = {static_cast<int>(headers.size()), headers.data()};
  }
  const int status =
      amqp_basic_publish(connection_.get(), kConsumeChannel, amqp_empty_bytes, bytes(message.queue),
                         0, 0, &properties, bytes(message.body));
  if (status != AMQP_STATUS_OK) return library_error(status);
  // Publishing may have read frames into the connection's buffers.
  more_timer_.after(0, [this] { pump(); });
  return Ok{};
}

Status AmqpLink::send_ack() {
  const std::size_t count = window_.unsent();
  if (count == 0) return Ok{};
  const int status =
      amqp_basic_ack(connection_.get(), kConsumeChannel, window_.settled_through(), 1);
  if (status != AMQP_STATUS_OK) return library_error(status);
  window_.sent();
  counters_.acked += count;
  ++counters_.ack_frames;
  return Ok{};
}

}  // namespace reclaim::listener
