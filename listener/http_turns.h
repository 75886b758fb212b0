// Shares the loop's time among connections: in one round of the loop so much work is done for
// clients, and what is left waits for the next, so that a thousand of them make nobody else late.
//
// Thread: the loop's.
#pragma once

#include <uv.h>

#include <deque>
#include <functional>
#include <utility>

#include "state/base/uv.h"

namespace reclaim::listener {

class HttpTurns final {
 public:
  // In units of roughly 25 microseconds.
  static constexpr int kRead = 1;
  static constexpr int kRequest = 4;
  static constexpr int kHandshake = 40;  // a signature by an RSA key
  static constexpr int kRound = 80;

  explicit HttpTurns(uv_loop_t* loop) : async_(loop, [this] { next_round(); }) {}

  // Whether the work may be done now. If not: wait().
  [[nodiscard]] bool take(int cost) {
    if (left_ <= 0 || (!in_round_ && !waiting_.empty())) return false;
    left_ -= cost;
    return true;
  }

  // `go` is called in a later round, in order of waiting, and asks take() again.
  void wait(std::function<void()> go) {
    waiting_.push_back(std::move(go));
    async_.send();
  }

 private:
  void next_round() {
    left_ = kRound;
    in_round_ = true;
    while (left_ > 0 && !waiting_.empty()) {
      const std::function<void()> go = std::move(waiting_.front());
      waiting_.pop_front();
      go();
    }
    in_round_ = false;
    if (!waiting_.empty()) async_.send();
  }

  int left_ = kRound;
  bool in_round_ = false;
  std::deque<std::function<void()>> waiting_;
  uv::Async async_;
};

}  // namespace reclaim::listener
