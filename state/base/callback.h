// Once and Callback: how an answer comes back later. Move-only, called exactly once.
//
// The holder owes the call. A second call aborts, in every build. One that is destroyed uncalled
// while its thread runs a loop aborts in debug builds: some caller waits for that answer. A holder
// that knows that none waits calls drop(). After the loop has ended nothing is owed: what it left
// open is destroyed with its holders, uncalled.
//
// What is called many times (progress, a subscription, a repeating timer) stays a std::function.
//
// Thread: one at a time; which one calls it is said where it is taken.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "state/base/calls_owed.h"
#include "state/base/check.h"
#include "state/base/result.h"

namespace reclaim {

template <typename... Args>
class Once final {
 public:
  Once() = default;
  template <typename F>  // implicit, as a lambda is handed over; it hides no move
  requires(!std::is_same_v<std::remove_cvref_t<F>, Once> &&
           std::is_invocable_v<std::decay_t<F>&, Args...>)
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      Once(F&& work)
      : work_(std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(work))) {}
  Once(Once&&) noexcept = default;
  Once& operator=(Once&& other) noexcept {
    std::swap(work_, other.work_);  // what was here is owed by `other` now
    return *this;
  }
  ~Once() {
    if (work_ != nullptr) left_uncalled();
  }

  // Const, so that a lambda that calls it need not be mutable. What it holds is destroyed after the
  // call, and may be all that kept the caller alive.
  void operator()(Args... args) const {
    CHECK(work_ != nullptr);
    const std::unique_ptr<Work> work = std::move(work_);
    work->run(std::forward<Args>(args)...);
  }
  void drop() const {
    const CallsOwed none(false);  // nor are those that it was to call
    work_.reset();
  }
  explicit operator bool() const { return work_ != nullptr; }

 private:
  struct Work {
    virtual ~Work() = default;
    virtual void run(Args... args) = 0;
  };
  template <typename F>
  struct Holder final : Work {
    explicit Holder(F f) : call(std::move(f)) {}
    void run(Args... args) override { call(std::forward<Args>(args)...); }
    F call;
  };

  mutable std::unique_ptr<Work> work_;
};

// The end of something that can fail.
template <typename T>
using Callback = Once<Result<T>>;

}  // namespace reclaim
