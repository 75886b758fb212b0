#include "nvme/erase/rate_limit.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

class HandClock final : public Clock {
 public:
  [[nodiscard]] Now now() const override { return {WallMs{0}, MonoMs{ms}}; }
  std::int64_t ms = 5'000;
};

TEST(RateLimit, WithoutALimitNobodyWaits) {
  HandClock clock;
  RateLimit rate(0, clock);
  EXPECT_EQ(rate.reserve_ms(1U << 30U), 0);
  EXPECT_EQ(rate.reserve_ms(1U << 30U), 0);
}

TEST(RateLimit, EachWaitsForAllThatWereBeforeIt) {
  HandClock clock;
  RateLimit rate(1'000, clock);  // a byte a millisecond
  EXPECT_EQ(rate.reserve_ms(500), 0);
  EXPECT_EQ(rate.reserve_ms(100), 500);
  EXPECT_EQ(rate.reserve_ms(1), 600);
  clock.ms += 400;
  EXPECT_EQ(rate.reserve_ms(1), 201);
}

TEST(RateLimit, IdleTimeIsNotSavedUp) {
  HandClock clock;
  RateLimit rate(1'000, clock);
  EXPECT_EQ(rate.reserve_ms(100), 0);
  clock.ms += 3'600'000;
  EXPECT_EQ(rate.reserve_ms(100), 0);
  EXPECT_EQ(rate.reserve_ms(100), 100);
}

TEST(RateLimit, LargeChunksDoNotOverflow) {
  HandClock clock;
  RateLimit rate(1U << 30U, clock);
  EXPECT_EQ(rate.reserve_ms(std::uint64_t{1} << 44U), 0);
  EXPECT_EQ(rate.reserve_ms(1), 16'384'000);
}

}  // namespace
}  // namespace reclaim::nvme
