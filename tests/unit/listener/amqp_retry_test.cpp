#include "listener/amqp/retry.h"

#include <gtest/gtest.h>

#include <limits>

namespace reclaim::listener {
namespace {

AmqpOptions with_hosts(std::size_t count) {
  AmqpOptions options;
  options.hosts.resize(count);
  return options;  // 1 s, 2 s more each time, at most 30 s
}

TEST(AmqpRetry, WaitsLongerEachTimeUpToTheMaximum) {
  const AmqpOptions options = with_hosts(1);
  // A random number of a quarter's length takes the jitter to nothing.
  EXPECT_EQ(retry_delay_ms(options, 0, 0), 0);
  EXPECT_EQ(retry_delay_ms(options, 1, 250), 1'000);
  EXPECT_EQ(retry_delay_ms(options, 2, 750), 3'000);
  EXPECT_EQ(retry_delay_ms(options, 15, 7'250), 29'000);
  EXPECT_EQ(retry_delay_ms(options, 16, 7'500), 30'000);
  EXPECT_EQ(retry_delay_ms(options, std::numeric_limits<std::uint32_t>::max(), 7'500), 30'000);
}

TEST(AmqpRetry, JitterIsAQuarterEitherWay) {
  const AmqpOptions options = with_hosts(1);
  std::int64_t lowest = 1'000'000;
  std::int64_t highest = 0;
  for (std::uint32_t random = 0; random < 5'000; ++random) {
    const std::int64_t delay = retry_delay_ms(options, 1, random * 2'654'435'761U);
    lowest = std::min(lowest, delay);
    highest = std::max(highest, delay);
  }
  EXPECT_EQ(lowest, 750);
  EXPECT_EQ(highest, 1'250);
}

TEST(AmqpRetry, TheNextHostOfARoundIsTriedAtOnce) {
  const AmqpOptions options = with_hosts(3);
  EXPECT_EQ(retry_delay_ms(options, 1, 9), 0);
  EXPECT_EQ(retry_delay_ms(options, 2, 9), 0);
  EXPECT_EQ(retry_delay_ms(options, 3, 250), 1'000);
  EXPECT_EQ(retry_delay_ms(options, 4, 9), 0);
  EXPECT_EQ(retry_delay_ms(options, 6, 750), 3'000);
}

TEST(AmqpRetry, HostsTakeTurns) {
  EXPECT_EQ(host_for_attempt(3, 2, 0), 2U);
  EXPECT_EQ(host_for_attempt(3, 2, 1), 0U);
  EXPECT_EQ(host_for_attempt(3, 2, 2), 1U);
  EXPECT_EQ(host_for_attempt(3, 2, 3), 2U);
  EXPECT_EQ(host_for_attempt(1, 0, 77), 0U);
}

}  // namespace
}  // namespace reclaim::listener
