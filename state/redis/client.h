// RedisClient: a connection to Redis that is kept up. Resolves off the loop, connects, presents
// itself (AUTH, SELECT, the greeting), and when the connection ends, connects again with capped
// backoff. Every command has a deadline; Redis not answering within it means that its outcome is
// unknown, and a connection that let one deadline pass is not trusted with another command.
//
// Thread: the loop's. A command's callback is called exactly once, later, on the loop's thread:
// also when the client is closed or destroyed, which it may be from within such a callback. Errors
// beside those of error_from_redis: unavailable (not connected: nothing was sent), unknown (sent,
// no answer), limit (too many in flight, or too long), cancelled (closed).
//
// hiredis writes with write(2), which raises SIGPIPE when the server is gone; create() sets the
// signal to be ignored unless the process handles it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/base/callback.h"
#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/uv.h"
#include "state/redis/options.h"
#include "state/redis/reply.h"
#include "state/redis/tls.h"

namespace reclaim {

struct RedisState {
  bool connected = false;  // connected, authenticated and greeted
  std::string last_error;  // why not, or why not any more; kept after a reconnect
  std::uint64_t connects = 0;
  RedisTlsFacts tls;  // of the last connection
};

// Asked of the server before any command; what `judge` refuses ends the connection with its text.
struct RedisGreeting {
  std::vector<std::string> command{"PING"};
  std::function<Status(const RedisReply&)> judge;
};

class RedisClient final {
 public:
  // `logger` and the loop outlive the client. Nothing is done before start().
  static Result<std::unique_ptr<RedisClient>> create(uv_loop_t* loop, RedisOptions options,
                                                     Logger& logger, RedisGreeting greeting = {});
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  void start();
  // Completes what is in flight with `cancelled`; nothing is sent afterwards.
  void close();

  [[nodiscard]] const RedisState& state() const;
  // Called after each change of state(), also after each failed attempt to connect.
  void on_state(std::function<void(const RedisState&)> on_change);

  // `timeout_ms` 0: the option's. For commands that block in the server it is to be longer than
  // they do.
  void command(std::vector<std::string> args, Callback<RedisReply> done, int timeout_ms = 0);

  // Told of the end of each command: "ok" or the kind of its error, and how long it took.
  void on_answer(std::function<void(std::string_view outcome, std::int64_t ms)> measured) {
    measured_ = std::move(measured);
  }

  // Calls back with a result that needs no server, as late as any other.
  void answer(Result<RedisReply> result, Callback<RedisReply> done);

 private:
  class Core;
  explicit RedisClient(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
  std::function<void(std::string_view, std::int64_t)> measured_;
};

}  // namespace reclaim
