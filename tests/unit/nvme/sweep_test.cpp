// A pass over the media: every byte once, several chunks at a time, and its ways to end.
#include "nvme/erase/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace reclaim::nvme {
namespace {

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() {
    options_.queue_depth = 4;
    options_.chunk_bytes = 1000;
    options_.deadline = MonoMs{clock_.now().mono.ms + 60'000};
    options_.report_interval_ms = 0;
  }
  SweepResult run(const SweepWork& work) {
    return sweep(
        stretches_, options_, work, [this](EraseProgress p) { progress_.push_back(p); }, clock_,
        stop_);
  }

  std::vector<Stretch> stretches_ = {{1, 0, 10'500}, {2, 7, 1}, {2, 100, 3'000}};
  SweepOptions options_;
  SystemClock clock_;
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
    const bool met = changed.wait_for(lock, std::chrono::seconds(30), [&] { return inside >= 4; });
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

TEST_F(SweepTest, StopDeadlineAndStallAreToldApart) {
  options_.queue_depth = 2;
  {
    const SweepResult stopped = run([&](std::size_t, const Place&) {
      stop_.request();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return Status(Ok{});
    });
    EXPECT_EQ(stopped.end, SweepEnd::stopped);
    EXPECT_GT(stopped.bytes_begun, 0U);
    EXPECT_LT(stopped.bytes_done, 13'501U);
  }
  StopFlag fresh;
  const auto slow = [](std::size_t, const Place&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return Status(Ok{});
  };
  const auto ignore = [](EraseProgress) {};
  options_.stall_timeout_ms = 60;
  EXPECT_EQ(sweep(stretches_, options_, slow, ignore, clock_, fresh).end, SweepEnd::stalled);
  options_.stall_timeout_ms = 60'000;
  options_.deadline = clock_.now().mono;
  EXPECT_EQ(sweep(stretches_, options_, slow, ignore, clock_, fresh).end, SweepEnd::late);
}

TEST_F(SweepTest, WaitingForTheRateIsNoStallAndIsLeftAtOnce) {
  RateLimit rate(1, clock_);  // the second chunk has to wait for a quarter of an hour
  options_.rates = {&rate};
  options_.stall_timeout_ms = 100;
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    stop_.request();
  });
  const SweepResult result = run([](std::size_t, const Place&) { return Status(Ok{}); });
  later.join();
  EXPECT_EQ(result.end, SweepEnd::stopped);
  EXPECT_EQ(result.bytes_done, 1'000U);
  ASSERT_FALSE(progress_.empty());
  EXPECT_NEAR(progress_.back().percent, 100.0 * 1'000 / 13'501, 0.1);
  EXPECT_GE(progress_.back().eta_s, 0);
}

}  // namespace
}  // namespace reclaim::nvme
