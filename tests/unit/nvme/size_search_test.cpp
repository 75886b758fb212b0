#include "nvme/controller/size_search.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

struct Answer {
  std::uint64_t largest;
  int tries;
};

// A drive that takes `limit` blocks and no more.
Answer search(std::uint64_t whole, std::uint64_t limit) {
  SizeSearch search(whole);
  int tries = 0;
  while (const auto blocks = search.next()) {
    EXPECT_GT(*blocks, 0U);
    EXPECT_LE(*blocks, whole);
    if (++tries > SizeSearch::kTriesMax) break;
    *blocks <= limit ? search.taken() : search.refused();
  }
  return Answer{search.largest(), tries};
}

TEST(SizeSearch, TheWholeIsAskedForFirst) {
  EXPECT_EQ(search(1'000'000, 1'000'000).largest, 1'000'000U);
  EXPECT_EQ(search(1'000'000, 1'000'000).tries, 1);
}

TEST(SizeSearch, TheLargestIsFoundToTheBlock) {
  for (std::uint64_t whole = 0; whole < 70; ++whole) {
    for (std::uint64_t limit = 0; limit <= whole; ++limit) {
      EXPECT_EQ(search(whole, limit).largest, limit) << whole;
    }
  }
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 40U;
  for (const std::uint64_t room : {std::uint64_t{1}, std::uint64_t{2047}, std::uint64_t{131'072},
                                   kLarge / 2, kLarge - 1, kLarge}) {
    EXPECT_EQ(search(kLarge, kLarge - room).largest, kLarge - room);
  }
}

TEST(SizeSearch, ItEndsWhateverTheDriveAnswers) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0} - 1;
  for (std::uint64_t pattern = 0; pattern < 4096; ++pattern) {
    SizeSearch search(kMost);
    int tries = 0;
    while (search.next()) {
      ASSERT_LE(++tries, SizeSearch::kTriesMax);
      (pattern >> tries % 12 & 1U) != 0 ? search.taken() : search.refused();
    }
  }
}

}  // namespace
}  // namespace reclaim::nvme
