// Shares the loop's time among connections: in one round of the loop about a millisecond is spent
// on clients, and what is left waits for the next, so that a thousand of them make nobody else
// late.
//
// Thread: the loop's.
#pragma once

#include <uv.h>

#include <cstdint>
#include <deque>
#include <utility>

#include "handlers/api/loop_budget.h"
#include "state/base/uv.h"

namespace reclaim::listener {

class HttpLoopBudget final : public api::LoopBudget {
 public:
  explicit HttpLoopBudget(uv_loop_t* loop) : async_(loop, [this] { next_round(); }) {}
  ~HttpLoopBudget() override {
    for (const Once<>& go : waiting_) go.drop();
  }

  // Stands around everything that is done for a client, and counts what it takes; one within
  // another counts nothing.
  class Work final {
   public:
    explicit Work(HttpLoopBudget& turns) : turns_(turns), outermost_(turns.began_ns_ == 0) {
      if (outermost_) turns_.began_ns_ = uv_hrtime();
    }
    ~Work() {
      if (!outermost_) return;
      turns_.left_ns_ = turns_.left_ns();
      turns_.began_ns_ = 0;
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    HttpLoopBudget& turns_;
    bool outermost_;
  };

  [[nodiscard]] bool may_begin() const override {
    return (in_round_ || waiting_.empty()) && left_ns() > 0;
  }

  // Lets the callers go in the order of their waiting.
  void wait(Once<> go) override {
    waiting_.push_back(std::move(go));
    async_.send();
  }

 private:
  static constexpr std::int64_t kRoundNs = 1'000'000;

  [[nodiscard]] std::int64_t left_ns() const {
    if (began_ns_ == 0) return left_ns_;
    return left_ns_ - static_cast<std::int64_t>(uv_hrtime() - began_ns_);
  }

  void next_round() {
    left_ns_ = kRoundNs;
    const Work work(*this);
    in_round_ = true;
    while (!waiting_.empty() && left_ns() > 0) {
      const Once<> go = std::move(waiting_.front());
      waiting_.pop_front();
      go();
    }
    in_round_ = false;
    if (!waiting_.empty()) async_.send();
  }

  std::int64_t left_ns_ = kRoundNs;
  std::uint64_t began_ns_ = 0;  // 0: nothing is being done
  bool in_round_ = false;
  std::deque<Once<>> waiting_;
  uv::Async async_;
};

}  // namespace reclaim::listener
