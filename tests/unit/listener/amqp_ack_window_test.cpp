#include "listener/amqp/ack_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tests/test_seed.h"

namespace reclaim::listener {
namespace {

TEST(AckWindow, AcksUpToWhereAllAreSettled) {
  AckWindow window;
  for (std::uint64_t tag = 1; tag <= 4; ++tag) EXPECT_TRUE(window.delivered(tag));
  EXPECT_TRUE(window.settle(2));
  EXPECT_TRUE(window.settle(3));
  EXPECT_EQ(window.settled_through(), 0U);
  EXPECT_EQ(window.unsent(), 0U);
  EXPECT_EQ(window.outstanding(), 4U);
  EXPECT_TRUE(window.settle(1));
  EXPECT_EQ(window.settled_through(), 3U);
  EXPECT_EQ(window.unsent(), 3U);
  EXPECT_EQ(window.outstanding(), 1U);
  window.sent();
  EXPECT_EQ(window.unsent(), 0U);
  EXPECT_EQ(window.settled_through(), 3U);
}

TEST(AckWindow, KnowsWhatIsNotOut) {
  AckWindow window;
  EXPECT_FALSE(window.settle(0));
  EXPECT_FALSE(window.settle(1));
  EXPECT_TRUE(window.delivered(1));
  EXPECT_TRUE(window.delivered(2));
  EXPECT_TRUE(window.settle(2));
  EXPECT_FALSE(window.settle(2));
  EXPECT_TRUE(window.settle(1));
  EXPECT_FALSE(window.settle(1));
  EXPECT_FALSE(window.settle(3));
}

TEST(AckWindow, RefusesTagsOutOfOrder) {
  AckWindow window;
  EXPECT_FALSE(window.delivered(2));
  EXPECT_TRUE(window.delivered(1));
  EXPECT_FALSE(window.delivered(1));
  EXPECT_FALSE(window.delivered(3));
}

TEST(AckWindow, ANewChannelBeginsAtOne) {
  AckWindow window;
  EXPECT_TRUE(window.delivered(1));
  EXPECT_TRUE(window.settle(1));
  window.reset();
  EXPECT_EQ(window.unsent(), 0U);
  EXPECT_EQ(window.outstanding(), 0U);
  EXPECT_TRUE(window.delivered(1));
}

TEST(AckWindow, NeverAcksWhatIsNotSettled) {
  std::mt19937 random(test_seed());
  for (int round = 0; round < 200; ++round) {
    AckWindow window;
    std::vector<std::uint64_t> out;
    std::set<std::uint64_t> settled;
    std::uint64_t next = 1;
    for (int step = 0; step < 300; ++step) {
      if (out.empty() || random() % 2 == 0) {
        ASSERT_TRUE(window.delivered(next));
        out.push_back(next++);
      } else {
        const std::size_t index = random() % out.size();
        ASSERT_TRUE(window.settle(out[index]));
        settled.insert(out[index]);
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(index));
      }
      const std::uint64_t lowest = out.empty() ? next : *std::min_element(out.begin(), out.end());
      ASSERT_EQ(window.settled_through(), lowest - 1);
    }
  }
}

}  // namespace
}  // namespace reclaim::listener
