// Where a drive is looked at: the edges always, the rest by chance, nothing twice.
#include "nvme/verify/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

NamespaceFacts ns(std::uint32_t nsid, std::uint64_t capacity, std::uint32_t block = 512) {
  NamespaceFacts facts;
  facts.nsid = nsid;
  facts.capacity_bytes = capacity;
  facts.block_bytes = block;
  return facts;
}

bool covered(const std::vector<Place>& places, std::uint32_t nsid, std::uint64_t from,
             std::uint64_t to) {
  for (std::uint64_t at = from; at < to; at += 512) {
    if (std::none_of(places.begin(), places.end(), [&](const Place& place) {
          return place.nsid == nsid && place.offset_bytes <= at &&
                 at < place.offset_bytes + place.length_bytes;
        })) {
      return false;
    }
  }
  return true;
}

// What must hold of every plan.
void expect_sound(const SamplePlan& plan, const std::vector<NamespaceFacts>& namespaces) {
  std::vector<Place> all = plan.samples;
  all.insert(all.end(), plan.canaries.begin(), plan.canaries.end());
  std::sort(all.begin(), all.end(), [](const Place& a, const Place& b) {
    return std::tie(a.nsid, a.offset_bytes) < std::tie(b.nsid, b.offset_bytes);
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto facts = std::find_if(namespaces.begin(), namespaces.end(),
                                    [&](const auto& n) { return n.nsid == all[i].nsid; });
    ASSERT_NE(facts, namespaces.end());
    EXPECT_GT(all[i].length_bytes, 0U);
    EXPECT_EQ(all[i].offset_bytes % facts->block_bytes, 0U);
    EXPECT_EQ(all[i].length_bytes % facts->block_bytes, 0U);
    EXPECT_LE(all[i].offset_bytes + all[i].length_bytes, facts->capacity_bytes);
    if (i == 0 || all[i].nsid != all[i - 1].nsid) continue;
    EXPECT_LE(all[i - 1].offset_bytes + all[i - 1].length_bytes, all[i].offset_bytes)
        << i - 1 << " and " << i << " overlap";
  }
}

TEST(Sampling, EdgesAndPartitionTablesAreAlwaysLookedAt) {
  const std::uint64_t capacity = 3'840'755'982'336;  // a 3.84 TB drive, no multiple of a sample
  const std::vector<NamespaceFacts> drive = {ns(1, capacity)};
  const auto plan = plan_samples(drive, 256, 131'072, 7);
  ASSERT_TRUE(plan.ok());
  expect_sound(*plan, drive);
  EXPECT_TRUE(covered(plan->samples, 1, 0, kMiB));
  EXPECT_TRUE(covered(plan->samples, 1, capacity - kMiB, capacity));
  EXPECT_EQ(plan->samples.size(), 256U);
  EXPECT_EQ(plan->canaries.size(), kCanariesPerNamespace);
}

TEST(Sampling, TheGptIsCoveredEvenWithTheLeastBudget) {
  const std::vector<NamespaceFacts> drive = {ns(1, 1000 * kMiB)};
  const auto plan = plan_samples(drive, kSamplesPerNamespaceMin, 65'536, 1);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(covered(plan->samples, 1, 512, std::uint64_t{34} * 512));
  EXPECT_TRUE(covered(plan->samples, 1, 1000 * kMiB - std::uint64_t{33} * 512, 1000 * kMiB));
}

TEST(Sampling, TheRestIsSpreadOverTheWholeDriveAndMovesWithTheSeed) {
  const std::uint64_t capacity = 1000'000 * kMiB;
  const std::vector<NamespaceFacts> drive = {ns(1, capacity)};
  const auto plan = plan_samples(drive, 256, 131'072, 7);
  // Every eighth of the drive is looked at.
  for (std::uint64_t part = 0; part < 8; ++part) {
    EXPECT_TRUE(std::any_of(plan->samples.begin(), plan->samples.end(), [&](const Place& place) {
      return place.offset_bytes / (capacity / 8) == part;
    })) << part;
  }
  const auto same = plan_samples(drive, 256, 131'072, 7);
  const auto other = plan_samples(drive, 256, 131'072, 8);
  EXPECT_EQ(plan->samples, same->samples);
  EXPECT_NE(plan->samples, other->samples);
  EXPECT_NE(plan->canaries, other->canaries);
}

TEST(Sampling, SmallAndOddNamespacesAreSound) {
  for (const std::uint32_t block : {512U, 4096U, 65'536U}) {
    for (const std::uint64_t blocks : {1U, 2U, 3U, 7U, 16U, 31U, 100U, 1000U, 4097U, 33'333U}) {
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const std::vector<NamespaceFacts> drive = {ns(3, blocks * block, block)};
        const auto plan = plan_samples(drive, 256, 131'072, seed);
        ASSERT_TRUE(plan.ok());
        SCOPED_TRACE(std::to_string(blocks) + " blocks of " + std::to_string(block));
        expect_sound(*plan, drive);
        EXPECT_FALSE(plan->samples.empty());
        EXPECT_LE(plan->samples.size(), 256U);
        if (blocks >= 16) {
          EXPECT_FALSE(plan->canaries.empty());
        }
      }
    }
  }
}

TEST(Sampling, NamespacesShareTheBudget) {
  std::vector<NamespaceFacts> drive;
  for (std::uint32_t nsid = 1; nsid <= 64; ++nsid) drive.push_back(ns(nsid, 100 * kMiB));
  const auto plan = plan_samples(drive, 256, 65'536, 5);
  ASSERT_TRUE(plan.ok());
  expect_sound(*plan, drive);
  EXPECT_LE(plan->samples.size(), 256U);
  for (const NamespaceFacts& facts : drive) {
    EXPECT_TRUE(covered(plan->samples, facts.nsid, 0, std::uint64_t{34} * 512));
    EXPECT_TRUE(std::any_of(plan->canaries.begin(), plan->canaries.end(),
                            [&](const Place& place) { return place.nsid == facts.nsid; }));
  }
  drive.push_back(ns(65, 100 * kMiB));
  EXPECT_EQ(plan_samples(drive, 256, 65'536, 5).error().code, Errc::limit);
}

TEST(Sampling, NonsenseIsRefusedAndNothingIsNothing) {
  EXPECT_TRUE(plan_samples({}, 256, 65'536, 5)->samples.empty());
  EXPECT_EQ(plan_samples({ns(1, 0)}, 256, 65'536, 5).error().code, Errc::invalid);
  EXPECT_EQ(plan_samples({ns(1, 1000)}, 256, 65'536, 5).error().code, Errc::invalid);
  EXPECT_EQ(plan_samples({ns(1, 4096, 0)}, 256, 65'536, 5).error().code, Errc::invalid);
}

NamespaceFacts drive_of(std::uint64_t capacity_bytes, std::uint32_t block_bytes = 512) {
  return NamespaceFacts{1, "nvme0n1", capacity_bytes, block_bytes, 1};
}

TEST(NistPlan, CoversATenthInThousandSubsectionsAndBothEnds) {
  for (const std::uint64_t capacity : {std::uint64_t{3'840'755'982'336}, std::uint64_t{1} << 26U,
                                       std::uint64_t{20'000} * 512, std::uint64_t{123'457} * 512}) {
    SCOPED_TRACE(capacity);
    const auto plan = plan_nist({drive_of(capacity)}, 42);
    ASSERT_EQ(plan.size(), 2 * kNistSubsections + 2);
    EXPECT_EQ(plan.front(), (Stretch{1, 0, 512}));
    EXPECT_EQ(plan.back(), (Stretch{1, capacity - 512, 512}));
    std::uint64_t read = 0;
    const std::uint64_t blocks = capacity / 512;
    for (std::uint64_t i = 0; i < kNistSubsections; ++i) {
      const auto from = blocks * i / 1000 * 512;
      const auto to = blocks * (i + 1) / 1000 * 512;
      const Stretch& one = plan[1 + 2 * i];
      const Stretch& two = plan[2 + 2 * i];
      ASSERT_GE(one.offset_bytes, from);
      ASSERT_GE(two.offset_bytes, one.offset_bytes + one.length_bytes) << "they overlap";
      ASSERT_LE(two.offset_bytes + two.length_bytes, to);
      ASSERT_GE(one.length_bytes * 20, to - from) << "less than 5 %";
      ASSERT_EQ(one.length_bytes, two.length_bytes);
      ASSERT_EQ(one.offset_bytes % 512, 0U);
      read += one.length_bytes + two.length_bytes;
    }
    EXPECT_GE(read * 10, capacity);
  }
}

TEST(NistPlan, IsAnotherEachTime) {
  const auto one = plan_nist({drive_of(1U << 30U)}, 1);
  EXPECT_EQ(one, plan_nist({drive_of(1U << 30U)}, 1));
  EXPECT_NE(one, plan_nist({drive_of(1U << 30U)}, 2));
}

TEST(NistPlan, ASmallNamespaceIsTakenWhole) {
  const auto plan = plan_nist({drive_of(19'999 * 512), drive_of(1U << 20U, 4096)}, 1);
  EXPECT_EQ(plan, plan_whole({drive_of(19'999 * 512), drive_of(1U << 20U, 4096)}));
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0], (Stretch{1, 0, 19'999 * 512}));
}

TEST(PartOf, IsWhatIsBehindSoManyBytesAndNoMoreThanAskedFor) {
  const std::vector<Stretch> all = {{1, 0, 100}, {2, 8, 50}, {3, 0, 10}};
  EXPECT_EQ(bytes_of(all), 160U);
  EXPECT_EQ(part_of(all, 0, 160), all);
  EXPECT_EQ(part_of(all, 0, 1000), all);
  EXPECT_EQ(part_of(all, 30, 130), (std::vector<Stretch>{{1, 30, 70}, {2, 8, 50}, {3, 0, 10}}));
  EXPECT_EQ(part_of(all, 100, 60), (std::vector<Stretch>{{2, 8, 50}, {3, 0, 10}}));
  EXPECT_EQ(part_of(all, 90, 20), (std::vector<Stretch>{{1, 90, 10}, {2, 8, 10}}));
  EXPECT_TRUE(part_of(all, 160, 10).empty());
  EXPECT_TRUE(part_of(all, 5, 0).empty());
}

}  // namespace
}  // namespace reclaim::nvme
