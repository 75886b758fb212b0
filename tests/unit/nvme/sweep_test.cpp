// A pass over the media: every byte once, several chunks at a time, and its ways to end.
#include "nvme/erase/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace reclaim::nvme {
namespace {

// Stands still but for leaps; waits, at a test's wish, until the sweep has looked at it since.
class LeapingClock final : public Clock {
 public:
  [[nodiscard]] Now now() const override {
    const std::lock_guard lock(mutex_);
    unread_ = false;
    read_.notify_all();
    return {WallMs{0}, MonoMs{ms_}};
  }
  void leap(std::int64_t ms) {
    const std::lock_guard lock(mutex_);
    ms_ += ms;
    unread_ = true;
    ++leaps;
  }
  void wait_until_read() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(read_.wait_for(lock, std::chrono::seconds(300), [this] { return !unread_; }));
  }
  std::atomic<int> leaps = 0;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable read_;
  mutable bool unread_ = false;
  std::int64_t ms_ = 1'000;
};

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() {
    options_.queue_depth = 4;
    options_.chunk_bytes = 1000;
    options_.deadline = MonoMs{clock_.now().mono.ms + 60'000};
    options_.stall_timeout_ms = 30'000;
    options_.report_interval_ms = 0;
  }
  SweepResult run(
      const SweepWork& work,
      const std::function<void(EraseProgress)>& on_progress = [](EraseProgress) {}) {
    return sweep(
        stretches_, options_, work,
        [&](EraseProgress progress) {
          progress_.push_back(progress);
          on_progress(progress);
        },
        clock_, stop_);
  }

  std::vector<Stretch> stretches_ = {{1, 0, 10'500}, {2, 7, 1}, {2, 100, 3'000}};
  SweepOptions options_;
  LeapingClock clock_;
  StopFlag stop_;
  std::vector<EraseProgress> progress_;
};

TEST_F(SweepTest, EveryByteIsWorkedOnOnce) {
  std::mutex mutex;
  std::vector<Place> seen;
  std::atomic<std::size_t> worker_max{0};
  const SweepResult result = run([&](std::size_t worker, const Place& chunk) {
    worker_max = std::max(worker_max.load(), worker);
    const std::lock_guard lock(mutex);
    seen.push_back(chunk);
    return Status(Ok{});
  });
  EXPECT_EQ(result.end, SweepEnd::done);
  EXPECT_EQ(result.bytes_done, 13'501U);
  EXPECT_EQ(result.bytes_begun, 13'501U);
  EXPECT_LT(worker_max, 4U);
  std::sort(seen.begin(), seen.end(), [](const Place& a, const Place& b) {
    return std::pair(a.nsid, a.offset_bytes) < std::pair(b.nsid, b.offset_bytes);
  });
  ASSERT_EQ(seen.size(), 11U + 1 + 3);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(seen[i], (Place{1, i * 1000, 1000}));
  EXPECT_EQ(seen[10], (Place{1, 10'000, 500}));  // the tail
  EXPECT_EQ(seen[11], (Place{2, 7, 1}));
  EXPECT_EQ(seen[14], (Place{2, 2'100, 1000}));
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back().percent, 100);
}

TEST_F(SweepTest, SeveralChunksAreInFlight) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t inside = 0;
  const SweepResult result = run([&](std::size_t, const Place&) {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    // The first four meet here; a sweep that does one at a time would not end well.
    const bool met = changed.wait_for(lock, std::chrono::seconds(300), [&] { return inside >= 4; });
    return met ? Status(Ok{}) : Status(Error{Errc::failed, "alone"});
  });
  EXPECT_EQ(result.end, SweepEnd::done);
}

TEST_F(SweepTest, TheFirstErrorEndsIt) {
  options_.queue_depth = 1;
  const SweepResult result = run([](std::size_t, const Place& chunk) {
    return chunk.offset_bytes == 3'000 ? Status(Error{Errc::failed, "broken", 5}) : Status(Ok{});
  });
  EXPECT_EQ(result.end, SweepEnd::failed);
  EXPECT_EQ(result.error.what, "broken");
  EXPECT_EQ(result.error.raw, 5);
  EXPECT_EQ(result.bytes_done, 3'000U);
  EXPECT_EQ(result.bytes_in_row, 3'000U);
  EXPECT_EQ(result.bytes_begun, 4'000U);
}

TEST_F(SweepTest, WhatIsDoneBehindAGapIsNotInARow) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t others = 0;
  const SweepResult result = run([&](std::size_t, const Place& chunk) {
    std::unique_lock lock(mutex);
    if (chunk.offset_bytes != 2'000) {
      ++others;
      changed.notify_all();
      return Status(Ok{});
    }
    // All others have been, those of the next stretches too, before the third ends.
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(300), [&] { return others == 14; }));
    return Status(Error{Errc::failed, "broken"});
  });
  EXPECT_EQ(result.end, SweepEnd::failed);
  EXPECT_EQ(result.bytes_in_row, 2'000U);
  EXPECT_EQ(result.bytes_done, 12'501U);
  EXPECT_EQ(run([](std::size_t, const Place&) { return Status(Ok{}); }).bytes_in_row, 13'501U);
}

TEST_F(SweepTest, AStopIsHeardWhileTheRateIsWaitedForAndThatIsNoStall) {
  RateLimit rate(1, clock_);  // the second chunk has to wait for a quarter of an hour
  options_.rates = {&rate};
  const SweepResult result = run([](std::size_t, const Place&) { return Status(Ok{}); },
                                 [this](EraseProgress progress) {
                                   if (progress.percent == 0) return;
                                   // The first is done, and no other is in flight: no time that
                                   // passes now is a stall.
                                   if (clock_.leaps == 0)
                                     return clock_.leap(options_.stall_timeout_ms);
                                   stop_.request();
                                 });
  EXPECT_EQ(result.end, SweepEnd::stopped);
  EXPECT_EQ(result.bytes_begun, 1'000U);
  EXPECT_EQ(result.bytes_done, 1'000U);
  ASSERT_FALSE(progress_.empty());
  EXPECT_NEAR(progress_.back().percent, 100.0 * 1'000 / 13'501, 0.1);
  EXPECT_GE(progress_.back().eta_s, 0);
}

TEST_F(SweepTest, AChunkThatDoesNotEndIsAStall) {
  options_.queue_depth = 1;
  const SweepResult result = run([this](std::size_t, const Place&) {
    clock_.leap(options_.stall_timeout_ms);
    clock_.wait_until_read();
    return Status(Ok{});
  });
  EXPECT_EQ(result.end, SweepEnd::stalled);
  EXPECT_EQ(result.bytes_done, 1'000U);
}

TEST_F(SweepTest, TheDeadlineIsNoStall) {
  options_.queue_depth = 1;
  options_.stall_timeout_ms = 3'600'000;
  const SweepResult result = run([this](std::size_t, const Place&) {
    clock_.leap(60'000);
    clock_.wait_until_read();
    return Status(Ok{});
  });
  EXPECT_EQ(result.end, SweepEnd::late);
  EXPECT_EQ(result.bytes_done, 1'000U);
}

}  // namespace
}  // namespace reclaim::nvme
