// CallsOwed: whether the callbacks of this thread have to be called (state/base/callback.h).
#pragma once

namespace reclaim {

// While one is alive calls are owed on this thread, for it runs a loop; or they are not.
class CallsOwed final {
 public:
  explicit CallsOwed(bool owed);
  ~CallsOwed();
  CallsOwed(const CallsOwed&) = delete;
  CallsOwed& operator=(const CallsOwed&) = delete;

 private:
  const bool before_;
};
// Reports a callback that is destroyed uncalled: a debug build ends there if its call was owed.
void left_uncalled() noexcept;

}  // namespace reclaim
