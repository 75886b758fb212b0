// RedisCluster: the masters of a Redis Cluster, each with a connection of its own, as one Redis.
//
// Slots. Which master has which slot is learned from the first node of [redis] url that answers,
// and anew when a connection is lost or a node names another master (MOVED). A command goes to the
// master of its key's slot. Of each slot one command at a time is under way and the others wait in
// their order, since a slot that moves may send the first of two commands elsewhere and carry out
// the second. MGET is asked of each slot it has keys of, and answered as one.
//
// Redirects. MOVED and ASK are followed, five times at most. What is in a passage (TRYAGAIN,
// CLUSTERDOWN, LOADING, MASTERDOWN), and a master that is being connected to for the first time, is
// tried again until the command's timeout has passed since it was asked, or since the slot's last
// answer; then nothing was done (unavailable). Once it is sent, the answer has as long again. What
// was sent and has no answer is unknown, and is not sent again.
//
// State. Connected: every slot has a master, with each of them stands a connection on which it says
// that it is one, and has the functions that are called, and the greeting was accepted by the
// master of its key since the last time that this was not so. Disconnected as soon as a connection
// to a master ends or a slot has none. While it is, commands to the masters that are left are
// carried out, and only the others refused, unless the greeting was refused. A master that is new
// to the map does not disconnect.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/redis/redis.h"

namespace reclaim {

class RedisCluster final : public Redis {
 public:
  // `options.cluster` is not empty.
  static Result<std::unique_ptr<RedisCluster>> create(uv_loop_t* loop, RedisOptions options,
                                                      Logger& logger, RedisGreeting greeting = {});
  ~RedisCluster() override;

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
  explicit RedisCluster(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
  RedisMeasure measure_;
};

}  // namespace reclaim
