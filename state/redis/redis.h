// Redis: what holds our keys, whatever it is made of: one server, the master that sentinels name
// (RedisClient), or a cluster (RedisCluster).
//
// Thread: the loop's. A command's callback is called exactly once, later, on the loop's thread:
// also when this is closed or destroyed, which it may be from within such a callback. Errors beside
// those of error_from_redis: unavailable (not connected: nothing was sent), unknown (sent, no
// answer), limit (too many in flight, or too long), cancelled (closed). What was sent and has no
// answer is never sent a second time; state() is disconnected after it, and connected again before
// anything waits for a change that on_state would tell.
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
#include "state/redis/calls.h"
#include "state/redis/options.h"
#include "state/redis/reply.h"
#include "state/redis/tls.h"

namespace reclaim {

struct RedisState {
  bool connected = false;  // connected, authenticated and greeted
  std::string last_error;  // why not, or why not any more; kept after a reconnect
  std::uint64_t connects = 0;
  RedisTlsFacts
      tls;  // of the last connection; of a cluster's, the one whose certificate ends first
  // The way the server runs our Lua, or why it cannot be used; of a cluster, that of a master that
  // has no functions.
  RedisLua lua = RedisLua::functions;
};

// Asked of the server before any command; what `judge` refuses ends the connection with its text.
struct RedisGreeting {
  std::vector<std::string> command{"PING"};
  std::function<Status(const RedisReply&)> judge;
  bool calls = false;  // our functions are called: each server is made to have them (calls.h)
};

// The answer of one of the masters.
struct RedisSaid {
  std::string server;  // "HOST:PORT"; empty: there is no other
  Result<RedisReply> reply;
};

// Told of the end of each command: "ok" or the kind of its error, and how long it took.
using RedisMeasure = std::function<void(std::string_view outcome, std::int64_t ms)>;

class Redis {
 public:
  // Makes one of the kind that `options` name. `logger` and the loop outlive it. Nothing is done
  // before start().
  static Result<std::unique_ptr<Redis>> create(uv_loop_t* loop, RedisOptions options,
                                               Logger& logger, RedisGreeting greeting = {});
  virtual ~Redis() = default;
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  virtual void start() = 0;
  // Completes what is in flight with `cancelled`; nothing is sent afterwards.
  virtual void close() = 0;

  [[nodiscard]] virtual const RedisState& state() const = 0;
  // Called after each change of state(), also after each failed attempt to connect.
  virtual void on_state(std::function<void(const RedisState&)> on_change) = 0;
  virtual void on_answer(RedisMeasure measure) = 0;

  // `timeout_ms` 0: the option's. For commands that block in the server it is to be longer than
  // they do.
  virtual void command(std::vector<std::string> args, Callback<RedisReply> done,
                       int timeout_ms) = 0;
  void command(std::vector<std::string> args, Callback<RedisReply> done) {
    command(std::move(args), std::move(done), 0);
  }
  // Asks every master the same, of what is no key's.
  virtual void ask_each(const std::vector<std::string>& args,
                        Callback<std::vector<RedisSaid>> done) = 0;

  // Calls back with a result that needs no server, as late as any other.
  virtual void answer(Result<RedisReply> result, Callback<RedisReply> done) = 0;

 protected:
  Redis() = default;
};

// The callback of a command for the implementations: calls `done`, and `measure` (if any) before
// it.
[[nodiscard]] Callback<RedisReply> measured(RedisMeasure measure, Callback<RedisReply> done);
// Errc::limit: the command is longer than it may be.
[[nodiscard]] Status check_length(const std::vector<std::string>& args,
                                  const RedisOptions& options);

}  // namespace reclaim
