// Getting from nothing to a channel that consumes: name lookup, TCP, TLS, login, and the queue with
// its bindings. All of it blocks, so it runs on a thread of its own; the link hands the finished
// connection to the loop. What is bounded: each step by connect_timeout_ms, but for the resolver's
// own patience.
//
// A queue that exists is used as it is: its type, durability and limits are an operator's or
// another listener's choice, and declaring it with other arguments would only close the channel
// (406).
//
// An exchange that does not exist is not declared. Nova declares its exchange with the durability
// its own configuration says; had we declared it first with another one, Nova's services would be
// refused (406) and fail because of us. It is also no loss: the exchange exists as soon as any Nova
// service has ever started, since RPC uses it too. So the link consumes at once and looks for a
// missing exchange again and again (AmqpExchangeWatch), and the periodic survey makes good for what
// was missed meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "listener/amqp/connection.h"
#include "listener/amqp/options.h"
#include "state/base/result.h"

namespace reclaim::listener {

inline constexpr amqp_channel_t kConsumeChannel = 1;
inline constexpr amqp_channel_t kWatchChannel = 2;
inline constexpr amqp_channel_t kQueueChannel = 3;

// A connection whose consumer is registered; deliveries may already be waiting in it.
struct AmqpConsuming {
  AmqpConnection connection;
  std::vector<std::string> missing_exchanges;
  bool queue_existed = false;
};

// Name lookup, TCP, TLS and login only: for what looks at the broker without consuming.
[[nodiscard]] Result<AmqpConnection> connect_and_log_in(const AmqpOptions& options,
                                                        std::size_t host_index,
                                                        const std::atomic<bool>& cancelled);

// `cancelled` is looked at between the steps. Errors name the broker and the step, never a
// password.
[[nodiscard]] Result<AmqpConsuming> connect_and_consume(const AmqpOptions& options,
                                                        std::size_t host_index,
                                                        const std::atomic<bool>& cancelled);

// Says goodbye, so that what was sent before is known to have been read; waits at most
// `timeout_ms`.
void close_politely(AmqpConnection connection, int timeout_ms);

}  // namespace reclaim::listener
