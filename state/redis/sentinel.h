// SentinelWatch: which server is the master of a service, as Redis Sentinel says. The sentinels are
// asked in turn, the first that answers is stayed with (the guidelines for clients of Redis
// Sentinel, redis.io), and asked again every two seconds: a former master that the network parts
// from its sentinels takes writes that nobody keeps.
//
// What a sentinel says may be old; who connects asks the server itself with ROLE.
//
// Thread: the loop's. May be destroyed in a callback of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/uv.h"
#include "state/redis/client.h"
#include "state/redis/options.h"

namespace reclaim {

class SentinelWatch final {
 public:
  // The answer to find(). Errc::unavailable: no sentinel answers, or none knows the service; the
  // text says what each said.
  using OnFound = std::function<void(const Result<RedisAddress>&)>;
  // The master is another one than was found last.
  using OnMoved = std::function<void(const RedisAddress&)>;

  // `options.sentinels` is not empty. Options and loop outlive the watch.
  SentinelWatch(uv_loop_t* loop, const RedisOptions& options, OnFound on_found, OnMoved on_moved);
  SentinelWatch(const SentinelWatch&) = delete;
  SentinelWatch& operator=(const SentinelWatch&) = delete;

  // Answered once, later; asked again before that, the search begins anew.
  void find();

 private:
  void ask_next();
  void on_sentinel(const RedisState& state);
  [[nodiscard]] Status heard(const RedisReply& reply);
  void look_again();
  void settle();

  uv_loop_t* loop_;
  const RedisOptions& options_;
  OnFound on_found_;
  OnMoved on_moved_;
  NullLogger silent_;
  std::size_t at_ = 0;     // of the sentinels, the one that is asked
  std::size_t asked_ = 0;  // how many did not answer, one after the other
  std::string said_;       // what was wrong with each of them
  RedisAddress master_;    // as the one that is asked says
  RedisAddress found_;     // as was answered last
  bool searching_ = false;
  uv::Timer timer_;
  std::unique_ptr<RedisClient> sentinel_;  // the last: its commands end with it
};

// The options by which that sentinel is reached: the sentinels' own login, and no database. It is
// asked for the master of `redis`' service; not_found: it does not know the service.
[[nodiscard]] RedisOptions sentinel_options(const RedisOptions& redis,
                                            const RedisAddress& sentinel);
[[nodiscard]] std::vector<std::string> sentinel_question(const RedisOptions& redis);
[[nodiscard]] Result<RedisAddress> master_in(const RedisReply& answer, const RedisOptions& redis);

// Checks what the server that `who` calls a master says of itself, asked with ROLE.
[[nodiscard]] Status check_is_master(const RedisReply& role, std::string_view who);

}  // namespace reclaim
