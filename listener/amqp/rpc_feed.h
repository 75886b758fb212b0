// RpcFeed: a request heard on the bus becomes a kick on this host's stream, and is settled, and
// answered where an answer is wanted and allowed, only after that is durable: a cast that is lost
// is lost for ever.
//
// Requests are not told apart by their _unique_id: one that comes twice, because a connection was
// lost before its ack, is one survey more. Kicks are idempotent, and so is what they lead to.
//
// Thread: the loop's. Owns the requests that wait for Redis; RabbitMQ's prefetch bounds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/bus/rpc_message.h"
#include "listener/amqp/kick_push.h"
#include "state/base/log.h"
#include "state/base/timers.h"
#include "state/device/store.h"

namespace reclaim::listener {

struct RpcFeedCounters {
  std::uint64_t kicks = 0;     // requests that became kicks
  std::uint64_t ignored = 0;   // methods and versions that are not ours to serve
  std::uint64_t rejected = 0;  // nobody could read them
  std::uint64_t answers = 0;   // to calls, failures among them
};

// The ways to settle a request: one of the two, or take()'s `dead_letter`, is called for each,
// once.
struct RpcSettle {
  std::function<void(std::uint64_t tag, std::uint64_t incarnation)> ack;
  // Publishes `body` to the caller's queue, then acks.
  std::function<void(std::uint64_t tag, std::uint64_t incarnation, const std::string& reply_queue,
                     std::string body)>
      answer;
};

struct RpcFeedOptions {
  std::string host;
  bool serve = false;
  std::vector<int> survey_delays_s;
};

class RpcFeed final {
 public:
  RpcFeed(Store& store, Timers& timers, Logger& log, RpcFeedOptions options, RpcSettle settle);

  // One delivery. `dead_letter` settles one that nobody can decode; it is called, if at all, before
  // take() returns.
  void take(std::string_view body, std::uint64_t tag, std::uint64_t incarnation,
            const std::function<void(std::string_view why)>& dead_letter);

  [[nodiscard]] const RpcFeedCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t waiting() const { return push_.waiting(); }

 private:
  void settle(const RpcDecision& decision, std::uint64_t tag, std::uint64_t incarnation);

  Logger& log_;
  const RpcFeedOptions options_;
  RpcSettle settle_;
  KickPush push_;
  RpcFeedCounters counters_;
};

}  // namespace reclaim::listener
