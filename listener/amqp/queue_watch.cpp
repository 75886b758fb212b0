#include "listener/amqp/queue_watch.h"

#include <fmt/core.h>

#include <algorithm>

#include "listener/amqp/connector.h"

namespace reclaim::listener {

AmqpQueueWatch::AmqpQueueWatch(const AmqpOptions& options, amqp_connection_state_t connection,
                               AmqpQueueMemory& memory)
    : options_(options), connection_(connection), memory_(memory) {}

Status AmqpQueueWatch::send(amqp_method_number_t id, void* method) {
  return send_method(connection_, kQueueChannel, id, method);
}

Status AmqpQueueWatch::open() {
  step_ = Step::opening;
  amqp_channel_open_t method{};
  method.out_of_band = amqp_empty_bytes;
  return send(AMQP_CHANNEL_OPEN_METHOD, &method);
}

Status AmqpQueueWatch::declare() {
  step_ = Step::declaring;
  amqp_queue_declare_t method{};
  method.queue = bytes(name());
  method.passive = 1;
  method.arguments = amqp_empty_table;
  return send(AMQP_QUEUE_DECLARE_METHOD, &method);
}

Status AmqpQueueWatch::purge() {
  step_ = Step::purging;
  memory_.unanswered.insert(name());
  amqp_queue_purge_t method{};
  method.queue = bytes(name());
  return send(AMQP_QUEUE_PURGE_METHOD, &method);
}

Status AmqpQueueWatch::look() {
  if (step_ != Step::idle) return Ok{};
  queue_ = 0;
  found_.clear();
  drained_ = 0;
  trouble_.clear();
  return open_ ? declare() : open();
}

Result<AmqpQueueWatch::Progress> AmqpQueueWatch::working(const Status& sent) const {
  if (!sent) return sent.error();
  return Progress::working;
}

Result<AmqpQueueWatch::Progress> AmqpQueueWatch::next_queue() {
  if (++queue_ < options_.watched_queues.size()) return working(open_ ? declare() : open());
  step_ = Step::idle;
  return Progress::done;
}

Result<AmqpQueueWatch::Progress> AmqpQueueWatch::declared(const amqp_queue_declare_ok_t& answer) {
  found_.push_back({name(), answer.message_count, answer.consumer_count});
  const BusQueue& queue = found_.back();
  const bool before = memory_.without_reader.contains(queue.name);
  if (queue.consumers > 0) {
    memory_.without_reader.erase(queue.name);
  } else {
    memory_.without_reader.insert(queue.name);
  }
  const auto& drained = options_.drained_queues;
  const bool is_drained = std::find(drained.begin(), drained.end(), queue.name) != drained.end();
  if (is_drained && before && queue.unread() && !memory_.unanswered.contains(queue.name)) {
    return working(purge());
  }
  return next_queue();
}

Result<AmqpQueueWatch::Progress> AmqpQueueWatch::purged(const amqp_queue_purge_ok_t& answer) {
  memory_.unanswered.erase(name());
  drained_ += answer.message_count;
  found_.back().messages = 0;
  return next_queue();
}

std::string AmqpQueueWatch::last_words() const {
  if (step_ != Step::purging) return {};
  return fmt::format(
      "; it was asked to empty the queue '{}', and is not asked again before the "
      "next start. If that is a stream, which cannot be emptied, take its topic out "
      "of [listener] drain and bound it by a policy with max-age",
      name());
}

Result<AmqpQueueWatch::Progress> AmqpQueueWatch::closed(const amqp_channel_close_t& close) {
  memory_.unanswered.erase(name());
  open_ = false;
  if (close.reply_code == AMQP_NOT_FOUND) {
    memory_.without_reader.erase(name());
  } else {
    trouble_ = closed_error(close.reply_code, close.reply_text)
                   .wrap(fmt::format("queue '{}' of Nova's notifier", name()))
                   .what;
  }
  amqp_channel_close_ok_t ok{};
  const Status sent = send(AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
  if (!sent) return sent.error();
  return next_queue();
}

Result<AmqpQueueWatch::Progress> AmqpQueueWatch::on_method(const amqp_method_t& method) {
  const auto is_answer_to = [this, &method](amqp_method_number_t id, Step step) {
    return method.id == id && step_ == step;
  };
  if (is_answer_to(AMQP_CHANNEL_OPEN_OK_METHOD, Step::opening)) {
    open_ = true;
    return working(declare());
  }
  if (is_answer_to(AMQP_QUEUE_DECLARE_OK_METHOD, Step::declaring)) {
    return declared(*static_cast<amqp_queue_declare_ok_t*>(method.decoded));
  }
  if (is_answer_to(AMQP_QUEUE_PURGE_OK_METHOD, Step::purging)) {
    return purged(*static_cast<amqp_queue_purge_ok_t*>(method.decoded));
  }
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD && step_ != Step::idle) {
    return closed(*static_cast<amqp_channel_close_t*>(method.decoded));
  }
  return Error{Errc::unavailable, "the broker answered out of turn on the channel of queues"};
}

}  // namespace reclaim::listener
