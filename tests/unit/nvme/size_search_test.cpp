#include "nvme/controller/size_search.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

struct Answer {
  std::uint64_t largest;
  int tries;
};

// A drive that takes `limit` blocks and no more.
Answer search(std::uint64_t whole, std::uint64_t limit, std::uint64_t former = 0,
              std::uint64_t unit = 1) {
  SizeSearch search(whole, former, unit);
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

// Of 8 TB in blocks of 512 bytes, of which the drive keeps 64 MiB.
TEST(SizeSearch, TheFormerSizeIsAskedForFirst) {
  constexpr std::uint64_t kWhole = 15'628'053'168;
  constexpr std::uint64_t kLargest = kWhole - 131'072;
  constexpr std::uint64_t kMiB = 2'048;
  SizeSearch search_of_former(kWhole, kLargest, kMiB);
  EXPECT_EQ(search_of_former.next(), kLargest);
  const Answer again = search(kWhole, kLargest, kLargest);
  EXPECT_EQ(again.largest, kLargest);
  EXPECT_EQ(again.tries, 2);
  for (const std::uint64_t former :
       {kLargest - 77, kLargest + 77, kWhole / 2, kWhole, kWhole + 1}) {
    EXPECT_EQ(search(kWhole, kLargest, former).largest, kLargest) << former;
  }
  EXPECT_EQ(search(kWhole, kWhole, kLargest).largest, kWhole) << "it may have grown";
}

TEST(SizeSearch, ItEndsAtItsUnit) {
  constexpr std::uint64_t kWhole = 15'628'053'168;
  constexpr std::uint64_t kMiB = 2'048;
  const Answer found = search(kWhole, kWhole - 131'072, 0, kMiB);
  EXPECT_LE(found.tries, 16);
  EXPECT_LE(found.largest, kWhole - 131'072);
  EXPECT_GE(found.largest, kWhole - 131'072 - kMiB);
  EXPECT_EQ(search(kWhole, 0, 0, kMiB).largest, 0U);
  EXPECT_EQ(search(1'000, 1'000, 0, kMiB).largest, 1'000U) << "smaller than the unit";
  EXPECT_EQ(search(1'000, 1'000, 0, 0).largest, 1'000U);
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
