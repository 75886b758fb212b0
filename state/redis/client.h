// RedisClient: a connection to one Redis server, or to the master that sentinels name, that is kept
// up. Resolves off the loop, connects, presents itself (AUTH, SELECT, the greeting), and when the
// connection ends, connects again with capped backoff. Every command has a deadline; Redis not
// answering within it means that its outcome is unknown, and a connection that let one deadline
// pass is not trusted with another command. Commands are carried out in the order in which they
// were sent.
//
// hiredis writes with write(2), which raises SIGPIPE when the server is gone; create() sets the
// signal to be ignored unless the process handles it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/redis/redis.h"

namespace reclaim {

class RedisClient final : public Redis {
 public:
  static Result<std::unique_ptr<RedisClient>> create(uv_loop_t* loop, RedisOptions options,
                                                     Logger& logger, RedisGreeting greeting = {});
  ~RedisClient() override;

  void start() override;
  void close() override;
  [[nodiscard]] const RedisState& state() const override;
  void on_state(std::function<void(const RedisState&)> on_change) override;
  void on_answer(RedisMeasure measure) override { measure_ = std::move(measure); }
  using Redis::command;
  void command(std::vector<std::string> args, Callback<RedisReply> done, int timeout_ms) override;
  void ask_each(const std::vector<std::string>& args,
                Callback<std::vector<RedisSaid>> done) override;
  void answer(Result<RedisReply> result, Callback<RedisReply> done) override;

 private:
  class Core;
  explicit RedisClient(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
  RedisMeasure measure_;
};

}  // namespace reclaim
