#include "listener/amqp/topology.h"

#include <fmt/core.h>

#include <array>

#include "listener/amqp/connector.h"

namespace reclaim::listener {
namespace {

// One channel that is opened again whenever the broker closes it.
class Channel final {
 public:
  explicit Channel(amqp_connection_state_t connection) : connection_(connection) {}

  [[nodiscard]] Status open() {
    (void)amqp_channel_open(connection_, kConsumeChannel);
    return check_reply(connection_, amqp_get_rpc_reply(connection_));
  }

  // Makes a call on the channel, and gives its answer. None is made once librabbitmq has failed.
  template <typename Call>
  [[nodiscard]] Status call(Call&& make) {
    if (is_lost(connection_)) return check_reply(connection_, amqp_get_rpc_reply(connection_));
    (void)make();
    return answer();
  }

  // The answer to the call just made. After a closed channel a fresh one stands ready.
  [[nodiscard]] Status answer() {
    const amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection_);
    const Status status = check_reply(connection_, reply);
    amqp_maybe_release_buffers(connection_);
    if (status || reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION ||
        reply.reply.id != AMQP_CHANNEL_CLOSE_METHOD) {
      return status;
    }
    const Status again = open();
    return again ? status : again;
  }

  [[nodiscard]] amqp_connection_state_t raw() const { return connection_; }

 private:
  amqp_connection_state_t connection_;
};

enum class Durability { absent, transient, durable };

Status declare_exchange(Channel& channel, const std::string& exchange, bool passive, bool durable) {
  return channel.call([&] {
    return amqp_exchange_declare(channel.raw(), kConsumeChannel, bytes(exchange), bytes("topic"),
                                 passive ? 1 : 0, durable ? 1 : 0, 0, 0, amqp_empty_table);
  });
}

// A passive declare tells only that it exists. Its durability is found by declaring it as we expect
// it: as it exists, that creates nothing, and 406 says that it is otherwise.
Result<Durability> find_exchange(Channel& channel, const std::string& exchange,
                                 bool expect_durable) {
  const Status exists = declare_exchange(channel, exchange, true, false);
  if (!exists) {
    if (exists.error().code == Errc::not_found) return Durability::absent;
    return exists.error().wrap(fmt::format("looking for exchange '{}'", exchange));
  }
  const Status as_expected = declare_exchange(channel, exchange, false, expect_durable);
  if (!as_expected && as_expected.error().code == Errc::conflict) expect_durable = !expect_durable;
  // Without the permission to configure it the expectation stands.
  if (!as_expected && as_expected.error().code == Errc::unavailable) {
    return as_expected.error().wrap(fmt::format("looking at exchange '{}'", exchange));
  }
  return expect_durable ? Durability::durable : Durability::transient;
}

struct QueueWish {
  std::string name;
  bool durable = false;
  QueueType type = QueueType::automatic;
  std::int64_t ttl_ms = 0;
  std::int64_t length_max = 0;
  std::int64_t expires_ms = 0;
};

Status declare_queue(Channel& channel, const QueueWish& wish, bool passive) {
  std::vector<amqp_table_entry_t> arguments;
  if (!passive) {
    arguments.push_back(entry_of("x-message-ttl", wish.ttl_ms));
    arguments.push_back(entry_of("x-max-length", wish.length_max));
    arguments.push_back(entry_of("x-overflow", std::string_view("drop-head")));
    if (wish.expires_ms > 0) arguments.push_back(entry_of("x-expires", wish.expires_ms));
    if (wish.type == QueueType::quorum)
      arguments.push_back(entry_of("x-queue-type", std::string_view("quorum")));
    if (wish.type == QueueType::classic)
      arguments.push_back(entry_of("x-queue-type", std::string_view("classic")));
  }
  const amqp_table_t table{static_cast<int>(arguments.size()), arguments.data()};
  const bool durable = wish.durable || wish.type == QueueType::quorum;
  return channel.call([&] {
    return amqp_queue_declare(channel.raw(), kConsumeChannel, bytes(wish.name), passive ? 1 : 0,
                              durable ? 1 : 0, 0, 0, table);
  });
}

// True: it was there before.
Result<bool> find_or_make_queue(Channel& channel, QueueWish wish) {
  const Status there = declare_queue(channel, wish, true);
  if (there) return true;
  if (there.error().code != Errc::not_found) {
    return there.error().wrap(fmt::format("looking for queue '{}'", wish.name));
  }
  Status made = declare_queue(channel, wish, false);
  if (made) return false;
  // Another listener was quicker and wanted it otherwise: then it exists now.
  if (declare_queue(channel, wish, true)) return true;
  // Newer brokers may refuse transient queues altogether.
  if (!wish.durable) {
    wish.durable = true;
    made = declare_queue(channel, wish, false);
    if (made) return false;
  }
  return made.error().wrap(fmt::format("declaring queue '{}'", wish.name));
}

// RabbitMQ's "invalid arg 'x-priority' for queue ... of queue type rabbit_stream_queue".
bool is_of_stream(const Error& error) {
  return error.code == Errc::conflict &&
         error.what.find("rabbit_stream_queue") != std::string::npos;
}

Error stream_refused(const std::string& queue) {
  return Error{
      Errc::refused,
      fmt::format("queue '{}' is a stream, which gives what was read to every other worker "
                  "too, and gives nothing again that was lost: classic and quorum queues "
                  "are accepted. Delete it (rabbitmqctl delete_queue {}), and it is made "
                  "anew as [listener] queue_type says; or name another one with "
                  "[listener] queue",
                  queue, queue)};
}

Status bind(Channel& channel, const AmqpOptions& options, const std::string& exchange) {
  for (const std::string& key : options.routing_keys) {
    const Status bound = channel.call([&] {
      return amqp_queue_bind(channel.raw(), kConsumeChannel, bytes(options.queue), bytes(exchange),
                             bytes(key), amqp_empty_table);
    });
    if (!bound) {
      return bound.error().wrap(
          fmt::format("binding queue '{}' to exchange '{}'", options.queue, exchange));
    }
  }
  return Ok{};
}

}  // namespace

Status check_reply(amqp_connection_state_t connection, const amqp_rpc_reply_t& reply) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL:
      return Ok{};
    case AMQP_RESPONSE_NONE:
      return Error{Errc::unavailable, "the broker ended the connection"};
    case AMQP_RESPONSE_LIBRARY_EXCEPTION:
      return library_error(reply.library_error);
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      break;
  }
  if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD ||
      reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    return answer_close(connection, kConsumeChannel, reply.reply);
  }
  return Error{Errc::unavailable, "the broker answered with a method that was not asked for"};
}

Result<AmqpTopology> set_up_topology(amqp_connection_state_t connection,
                                     const AmqpOptions& options) {
  Channel channel(connection);
  const Status opened = channel.open();
  if (!opened) return opened.error().wrap("opening a channel");
  AmqpTopology out;
  std::vector<std::string> present;
  bool any_durable = false;
  for (const std::string& exchange : options.exchanges) {
    Result<Durability> found = find_exchange(channel, exchange, options.durable);
    if (!found) return found.error();
    if (*found == Durability::absent) {
      out.missing_exchanges.push_back(exchange);
      continue;
    }
    present.push_back(exchange);
    any_durable = any_durable || *found == Durability::durable;
  }
  const bool durable = present.empty() ? options.durable : any_durable;
  Result<bool> queue = find_or_make_queue(
      channel, {options.queue, durable, options.queue_type, options.message_ttl_ms,
                options.queue_length_max, options.queue_expires_ms});
  if (!queue) return queue.error();
  out.queue_existed = *queue;
  Result<bool> dead =
      find_or_make_queue(channel, {options.dead_letter_queue, durable, options.queue_type,
                                   options.dead_letter_ttl_ms, options.dead_letter_length_max, 0});
  if (!dead) return dead.error();
  for (const std::string& exchange : present) {
    const Status bound = bind(channel, options, exchange);
    if (!bound) return bound.error();
  }
  return out;
}

Status begin_consuming(amqp_connection_state_t connection, const AmqpOptions& options) {
  Channel channel(connection);
  (void)amqp_basic_qos(connection, kConsumeChannel, 0, static_cast<std::uint16_t>(options.prefetch),
                       0);
  const Status bounded = channel.answer();
  if (!bounded) return bounded.error().wrap("setting the prefetch bound");
  // The priority that a consumer has anyway. Every queue takes it but a stream, of which nothing
  // else tells before messages come.
  amqp_table_entry_t priority = entry_of("x-priority", std::int64_t{0});
  (void)amqp_basic_consume(connection, kConsumeChannel, bytes(options.queue), amqp_empty_bytes, 0,
                           0, 0, {1, &priority});
  // Channel's answer() would not do: deliveries may already wait in the channel's buffers, which
  // must not be released.
  const Status consuming = check_reply(connection, amqp_get_rpc_reply(connection));
  if (consuming) return Ok{};
  if (is_of_stream(consuming.error())) return stream_refused(options.queue);
  return consuming.error().wrap(fmt::format("consuming from '{}'", options.queue));
}

}  // namespace reclaim::listener
