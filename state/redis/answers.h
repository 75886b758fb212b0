// RedisAnswers: the answers that are due to callers, called back later and in their order. What
// these callbacks ask in turn waits for the loop's next round, so that a caller who asks again at
// once does not keep the loop from turning.
//
// Thread: the loop's. A callback may destroy who owns this: whoever calls drain() keeps it alive.
#pragma once

#include <deque>
#include <functional>

#include "state/base/callback.h"
#include "state/base/uv.h"
#include "state/redis/reply.h"

namespace reclaim {

class RedisAnswers final {
 public:
  // `turn` is called in a round of its own when something is left: it is to call drain().
  RedisAnswers(uv_loop_t* loop, std::function<void()> turn) : turn_(std::move(turn)), soon_(loop) {}

  // Called back by the next drain().
  void add(Callback<RedisReply> done, Result<RedisReply> result);
  // Lets `turn` be called, for what was added outside of a round that drains.
  void soon();
  void drain();
  // Drains at the end: until nothing is left, and nothing more is called afterwards by itself.
  void drain_all();

 private:
  struct Finished {
    Callback<RedisReply> done;
    Result<RedisReply> result;
  };

  std::function<void()> turn_;
  std::deque<Finished> finished_;
  uv::Timer soon_;
};

}  // namespace reclaim
