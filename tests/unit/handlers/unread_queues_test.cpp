// Queues that hold messages and have no reader, and since when.
#include "handlers/bus/unread_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnreadQueues, CountsFromTheFirstLookThatFoundThemSo) {
  UnreadQueues unread;
  EXPECT_THAT(unread.names(), IsEmpty());
  EXPECT_EQ(unread.since(), WallMs{});
  unread.seen({{"a", 1, 0}, {"empty", 0, 0}, {"read", 9, 1}}, WallMs{10});
  unread.seen({{"a", 2, 0}, {"b", 7, 0}}, WallMs{20});
  EXPECT_THAT(unread.names(), ElementsAre("a", "b"));
  EXPECT_EQ(unread.since(), WallMs{10});
  // It had a reader meanwhile, and the other is gone.
  unread.seen({{"a", 2, 1}}, WallMs{30});
  EXPECT_THAT(unread.names(), IsEmpty());
  unread.seen({{"a", 3, 0}}, WallMs{40});
  EXPECT_EQ(unread.since(), WallMs{40});
}

}  // namespace
}  // namespace reclaim
