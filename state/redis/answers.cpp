#include "state/redis/answers.h"

#include <utility>

#include "state/base/check.h"

namespace reclaim {

void RedisAnswers::add(Callback<RedisReply> done, Result<RedisReply> result) {
  finished_.push_back(Finished{std::move(done), std::move(result)});
}

void RedisAnswers::soon() {
  soon_.after(0, turn_);
}

void RedisAnswers::drain() {
  for (std::size_t left = finished_.size(); left > 0 && !finished_.empty(); --left) {
    Finished finished = std::move(finished_.front());
    finished_.pop_front();
    finished.done(std::move(finished.result));
  }
  if (!finished_.empty()) soon();
}

void RedisAnswers::drain_all() {
  // A caller whose every cancelled command asks again would keep us here for ever: that is a bug.
  std::size_t rounds = 0;
  while (!finished_.empty()) {
    CHECK(++rounds < 100);
    drain();
  }
  soon_.stop();
}

}  // namespace reclaim
