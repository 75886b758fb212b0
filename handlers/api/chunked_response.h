// Long answers, made piece by piece: one after the other, each over as many of the loop's turns as
// it takes, so that a list of a large fleet, asked for by many at once, makes nobody else late.
//
// Thread: the loop's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "handlers/api/loop_budget.h"

namespace reclaim::api {

class ChunkedResponse final : public std::enable_shared_from_this<ChunkedResponse> {
 public:
  // Makes one; false: that was the last.
  using Piece = std::function<bool()>;

  explicit ChunkedResponse(LoopBudget& turns) : turns_(turns) {}

  // Makes the answers in order of asking, one after the other: what is half made takes memory that
  // no limit of the HTTP server knows of.
  void make(Piece piece) {
    waiting_.push_back(std::move(piece));
    if (waiting_.size() == 1) wait();
  }

 private:
  void wait() {
    turns_.wait([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->go_on();
    });
  }

  void go_on() {
    // The piece at the front stands there while it is made, also for make() within it.
    while (turns_.may_begin()) {
      if (waiting_.front()()) continue;
      waiting_.pop_front();
      if (waiting_.empty()) return;
    }
    wait();
  }

  LoopBudget& turns_;
  std::deque<Piece> waiting_;
};

}  // namespace reclaim::api
