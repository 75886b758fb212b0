// What a provider's generation tells of the time in which nobody looked.
#include "handlers/survey/unseen.h"

#include <gtest/gtest.h>

namespace reclaim {
namespace {

placement::ProviderView provider(std::int64_t generation, bool reserved,
                                 const std::string& uuid = "p") {
  return {uuid, generation, {{"CUSTOM_NVME", 1, reserved ? 1 : 0}}, {}};
}

// As Placement shows one of Nova's that is for one use, or of Cyborg's.
Sighting seen(Flow flow, std::int64_t generation, bool reserved, const std::string& uuid = "p") {
  Sighting sighting;
  sighting.view = provider(generation, reserved, uuid);
  placement::ProviderRow row;
  row.one_time_use = flow == Flow::nova;
  row.owner_cyborg = flow == Flow::cyborg;
  sighting.rows.push_back(row);
  return sighting;
}

// The fewest writes that a tenancy takes, from how its device was seen to how it is found.
struct Tenancy {
  Flow flow;
  bool was_reserved;
  bool is_reserved;
  std::int64_t writes;
  const char* as;
};

class ATenancy : public ::testing::TestWithParam<Tenancy> {};

TEST_P(ATenancy, TakesSoManyWritesAndFewerAskNothing) {
  const Tenancy& tenancy = GetParam();
  const Rest rest = rest_of(seen(tenancy.flow, 7, tenancy.was_reserved));
  for (std::int64_t writes = 0; writes < tenancy.writes; ++writes) {
    EXPECT_FALSE(may_have_had_a_tenant(rest, seen(tenancy.flow, 7 + writes, tenancy.is_reserved)))
        << writes << " writes: " << tenancy.as;
  }
  EXPECT_TRUE(
      may_have_had_a_tenant(rest, seen(tenancy.flow, 7 + tenancy.writes, tenancy.is_reserved)))
      << tenancy.as;
}

INSTANTIATE_TEST_SUITE_P(
    Each, ATenancy,
    ::testing::Values(
        Tenancy{Flow::cyborg, false, false, 1, "allocated"},
        Tenancy{Flow::cyborg, false, true, 2, "allocated, and reserved by whomever"},
        Tenancy{Flow::cyborg, true, false, 2, "un-reserved, allocated"},
        Tenancy{Flow::cyborg, true, true, 3, "un-reserved, allocated, reserved"},
        Tenancy{Flow::nova, false, true, 2, "allocated, burned"},
        Tenancy{Flow::nova, false, false, 3, "allocated, burned, un-reserved by hand"},
        Tenancy{Flow::nova, true, true, 3, "un-reserved by hand, allocated, burned"},
        Tenancy{Flow::nova, true, false, 4, "un-reserved, allocated, burned, un-reserved"}));

TEST(Unseen, AnotherProviderAndOneThatCountsFromTheStartMayHaveHadAnybody) {
  const Rest rest{"p", 7, false};
  for (const Flow flow : {Flow::nova, Flow::cyborg}) {
    EXPECT_TRUE(may_have_had_a_tenant(rest, seen(flow, 7, false, "q")));
    EXPECT_TRUE(may_have_had_a_tenant(rest, seen(flow, 3, false)));
  }
}

TEST(Unseen, WhereNoGenerationIsKnownNothingIsAsked) {
  EXPECT_FALSE(may_have_had_a_tenant(Rest{}, seen(Flow::cyborg, 70, false)));
}

// Its life may lie in the time in which nobody burned it.
TEST(Unseen, OneWriteIsATenancyWhereTheDeviceWasNotBurnedThenOrIsNotNow) {
  const Rest burned = rest_of(seen(Flow::nova, 7, false));
  const Rest of_cyborgs = rest_of(seen(Flow::cyborg, 7, false));
  EXPECT_FALSE(may_have_had_a_tenant(burned, seen(Flow::nova, 8, false)));
  EXPECT_TRUE(may_have_had_a_tenant(of_cyborgs, seen(Flow::nova, 8, false)));
  EXPECT_TRUE(may_have_had_a_tenant(burned, seen(Flow::cyborg, 8, false)));
  Sighting often = seen(Flow::nova, 7, false);
  often.rows.front().one_time_use = false;
  EXPECT_TRUE(may_have_had_a_tenant(rest_of(often), seen(Flow::nova, 8, false)));
  Sighting both = seen(Flow::nova, 8, false);
  both.rows.front().owner_cyborg = true;
  EXPECT_TRUE(may_have_had_a_tenant(burned, both));
}

struct Answer : ::testing::Test {
  Answer() {
    record.flow = Flow::cyborg;
    record.rest = {"p", 7, false};
    record.certified_host_reads = 100;
    record.certified_host_writes = 50;
    sighting = seen(Flow::cyborg, 8, false);
    sighting.drive.emplace();
    counts(100, 50);
  }
  void counts(std::uint64_t reads, std::uint64_t writes) {
    sighting.drive->counters = nvme::Counters{reads, writes};
  }
  Record record;
  Sighting sighting;
};

TEST_F(Answer, ADriveThatNobodyReadOrWroteHadNoTenant) {
  EXPECT_FALSE(is_in_question(record, nullptr, sighting));
}

TEST_F(Answer, WhoeverGetsAManagedDriveBackReadsIt) {
  counts(101, 50);
  EXPECT_TRUE(is_in_question(record, nullptr, sighting));
}

TEST_F(Answer, AWriteIsATenants) {
  counts(100, 51);
  EXPECT_TRUE(is_in_question(record, nullptr, sighting));
}

TEST_F(Answer, WhatCannotBeReadAnswersNothing) {
  sighting.drive->counters.reset();
  EXPECT_TRUE(is_in_question(record, nullptr, sighting));
  sighting.drive.reset();
  EXPECT_TRUE(is_in_question(record, nullptr, sighting));
}

TEST_F(Answer, AClaimReadsByItselfButNotWithoutEnd) {
  sighting.peeked = true;
  counts(180, 50);
  EXPECT_FALSE(is_in_question(record, nullptr, sighting));
  counts(1'000'000, 50);
  EXPECT_TRUE(is_in_question(record, nullptr, sighting));
  counts(99, 50);
  EXPECT_TRUE(is_in_question(record, nullptr, sighting)) << "a counter never falls";
}

// The device was away for a moment, and its drive is read when it comes back.
TEST_F(Answer, OfAProviderThatWasMadeAnewTheWritesTell) {
  sighting.view = provider(2, false, "q");
  counts(180, 50);
  EXPECT_FALSE(is_in_question(record, nullptr, sighting));
  counts(180, 51);
  EXPECT_TRUE(is_in_question(record, nullptr, sighting));
}

}  // namespace
}  // namespace reclaim
