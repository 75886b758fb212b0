#include "listener/http/loop_budget.h"

#include <gmock/gmock.h>

#include <vector>

namespace reclaim::listener {
namespace {

using ::testing::ElementsAre;

// More than a round has.
void work_long() {
  const std::uint64_t began = uv_hrtime();
  while (uv_hrtime() - began < 5'000'000) {
  }
}

TEST(HttpLoopBudget, WorkIsBegunWhileTheRoundHasTime) {
  uv::Loop loop;
  HttpLoopBudget turns(loop.raw());
  EXPECT_TRUE(turns.may_begin());
  {
    const HttpLoopBudget::Work work(turns);
    work_long();
    EXPECT_FALSE(turns.may_begin());
  }
  // It is still used up, until a round of the loop gives more to who waits.
  EXPECT_FALSE(turns.may_begin());
  bool went = false;
  turns.wait([&] { went = turns.may_begin(); });
  EXPECT_FALSE(went);
  loop.run_once();
  EXPECT_TRUE(went);
  EXPECT_TRUE(turns.may_begin());
}

TEST(HttpLoopBudget, WhatIsTooMuchForOneRoundWaitsForTheNextInItsOrder) {
  uv::Loop loop;
  HttpLoopBudget turns(loop.raw());
  std::vector<int> went;
  for (int i = 0; i < 3; ++i) {
    turns.wait([&went, i] {
      went.push_back(i);
      work_long();
    });
  }
  // Nobody passes by those that wait.
  EXPECT_FALSE(turns.may_begin());
  loop.run_once();
  EXPECT_THAT(went, ElementsAre(0));
  turns.wait([&went] { went.push_back(3); });
  loop.run_once();
  EXPECT_THAT(went, ElementsAre(0, 1));
  loop.run_once();
  loop.run_once();
  EXPECT_THAT(went, ElementsAre(0, 1, 2, 3));
}

TEST(HttpLoopBudget, TimeWithoutWorkIsNobodys) {
  uv::Loop loop;
  HttpLoopBudget turns(loop.raw());
  work_long();
  EXPECT_TRUE(turns.may_begin());
  {
    const HttpLoopBudget::Work outer(turns);
    const HttpLoopBudget::Work inner(turns);
  }
  EXPECT_TRUE(turns.may_begin());
}

}  // namespace
}  // namespace reclaim::listener
