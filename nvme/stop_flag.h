// Tells a job on a drive thread to end, and lets it wait so that it hears it. One a job. Thread:
// request() from any; the rest from the job's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace reclaim::nvme {

class StopFlag final {
 public:
  void request() {
    {
      const std::lock_guard lock(mutex_);
      requested_ = true;
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool requested() const {
    const std::lock_guard lock(mutex_);
    return requested_;
  }
  // Waits `ms`, or until the job is told to end: true then.
  [[nodiscard]] bool wait(std::int64_t ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return requested_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = false;
};

}  // namespace reclaim::nvme
