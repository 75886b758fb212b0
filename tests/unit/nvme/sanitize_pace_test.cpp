// The pauses between two looks at a running sanitize: how soon its end is seen, and how many looks
// that takes.
#include "nvme/erase/sanitize_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tests/test_seed.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kMostMs = 1'000;
constexpr std::int64_t kWholeSprog = 65'536;

// SPROG at a time since the sanitize began.
using Progress = std::function<std::uint16_t(std::int64_t)>;

Progress linear(std::int64_t length_ms) {
  return [length_ms](std::int64_t at_ms) {
    return static_cast<std::uint16_t>(std::min(at_ms * kWholeSprog / length_ms, kWholeSprog - 1));
  };
}

struct Watched {
  std::int64_t seen_after_ms = 0;  // its end
  int looks = 0;
};

Watched watch(std::int64_t length_ms, const Progress& progress, std::int64_t most_ms = kMostMs) {
  SanitizePace pace(most_ms);
  Watched watched;
  std::int64_t now = 0;
  for (; now < length_ms; now += pace.next_ms(MonoMs{now})) {
    watched.looks += 1;
    pace.saw(progress(now), MonoMs{now});
  }
  watched.seen_after_ms = now - length_ms;
  return watched;
}

TEST(SanitizePace, TheLimitsOfAPause) {
  EXPECT_EQ(pause_ms({0, {}}, kMostMs), 20);
  EXPECT_EQ(pause_ms({400, {}}, kMostMs), 100);
  EXPECT_EQ(pause_ms({60'000, {}}, kMostMs), kMostMs);
  EXPECT_EQ(pause_ms({60'000, 400}, kMostMs), 100);
  EXPECT_EQ(pause_ms({60'000, -400}, kMostMs), 100);
  EXPECT_EQ(pause_ms({60'000, 0}, kMostMs), 20);
  EXPECT_EQ(pause_ms({60'000, 60'000}, kMostMs), kMostMs);
  EXPECT_EQ(pause_ms({60'000, 0}, 5), 5);
}

TEST(SanitizePace, SeesTheEndOfASteadySanitizeWithinAMoment) {
  std::mt19937 random(test_seed());
  std::uniform_int_distribution<std::int64_t> lengths(2'000, 7'200'000);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t length_ms = lengths(random);
    const Watched watched = watch(length_ms, linear(length_ms));
    EXPECT_LE(watched.seen_after_ms, 60) << length_ms;
    EXPECT_LE(watched.looks, length_ms / kMostMs + 60) << length_ms;
  }
}

// Whole percents, and the last one takes longer than the others.
TEST(SanitizePace, ADriveThatStaysAtItsLastPercentIsNotFloodedWithLooks) {
  constexpr std::int64_t kLengthMs = 600'000;
  const Watched watched = watch(kLengthMs, [](std::int64_t at_ms) {
    const std::int64_t percent = std::min<std::int64_t>(at_ms / 4'000, 99);
    return static_cast<std::uint16_t>(percent * kWholeSprog / 100);
  });
  EXPECT_LE(watched.looks, kLengthMs / kMostMs + 120);
  EXPECT_LE(watched.seen_after_ms, kMostMs);
}

TEST(SanitizePace, WithoutProgressTheDelayIsAPartOfTheWhole) {
  for (const std::int64_t length_ms : {20, 100, 700, 3'000}) {
    const Watched watched = watch(length_ms, [](std::int64_t /*at_ms*/) { return 0; });
    EXPECT_LE(watched.seen_after_ms, std::max<std::int64_t>(length_ms / 4, 20)) << length_ms;
  }
  const Watched hour = watch(3'600'000, [](std::int64_t /*at_ms*/) { return 0xFFFF; });
  EXPECT_LE(hour.looks, 3'600'000 / kMostMs + 40);
}

TEST(SanitizePace, ProgressThatGoesBackBeginsANewEstimate) {
  SanitizePace pace(kMostMs);
  pace.saw(0, MonoMs{0});
  pace.saw(60'000, MonoMs{10'000});
  pace.saw(0, MonoMs{11'000});
  pace.saw(100, MonoMs{12'000});
  EXPECT_EQ(pace.next_ms(MonoMs{12'000}), kMostMs);
}

}  // namespace
}  // namespace reclaim::nvme
