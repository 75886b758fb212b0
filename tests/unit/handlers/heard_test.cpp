// Instances that nothing but notifications tells of: whom they name as the tenant whom no survey
// saw, what that changes, and that it changes nothing else.
#include "handlers/survey/heard.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Gap kGap{WallMs{1'000}, WallMs{2'000}};
constexpr WallMs kMuchLater{9'000'000};

std::string instance(int number) {
  return fmt::format("3ab0e3b2-0000-4000-8000-{:012}", number);
}

Kick told(Life life, const std::string& who, std::int64_t at_ms,
          const std::string& host = "compute-1") {
  Kick kick;
  kick.reason = "instance.event";
  kick.instance = who;
  kick.life = life;
  kick.host = host;
  kick.sent_at = WallMs{at_ms};
  kick.mark_allocated = life == Life::begins;
  kick.delays_s = {0};
  return kick;
}

struct Heard : ::testing::Test {
  bool hear(const Kick& kick) { return heard.hear(kick, here, kMuchLater); }
  [[nodiscard]] std::vector<std::string> named() const { return heard.within(kGap, {}); }
  HostNames here{"compute-1", {"compute-1.example.org"}};
  HeardInstances heard;
  const std::string a = instance(1);
  const std::string b = instance(2);
};

TEST_F(Heard, NamesWhoseLifeBeganInTheGapAndIsOver) {
  EXPECT_TRUE(hear(told(Life::begins, a, 1'000)));
  EXPECT_THAT(named(), IsEmpty()) << "it lives, and so it has another device or none";
  hear(told(Life::ends, a, 2'500));
  EXPECT_THAT(named(), ElementsAre(a)) << "its end is told after its allocation is gone";
  EXPECT_THAT(heard.within(kGap, {b}), ElementsAre(a, b));
}

TEST_F(Heard, DoesNotNameWhoBeganBeforeTheGapOrBehindIt) {
  for (const std::int64_t began : {999, 2'001}) {
    hear(told(Life::begins, a, began));
    hear(told(Life::ends, a, 3'000));
    EXPECT_THAT(named(), IsEmpty()) << began;
  }
  hear(told(Life::ends, b, 1'500));
  EXPECT_THAT(named(), IsEmpty()) << "nobody told that it began";
}

TEST_F(Heard, DoesNotNameWhoLivedOnAnotherHost) {
  EXPECT_FALSE(hear(told(Life::begins, a, 1'100, "compute-2")));
  hear(told(Life::ends, a, 1'200, "compute-2"));
  EXPECT_THAT(named(), IsEmpty());
  hear(told(Life::begins, a, 1'100));
  hear(told(Life::ends, a, 1'200, "compute-2"));
  EXPECT_THAT(named(), IsEmpty()) << "it has only left the other one";
  EXPECT_TRUE(hear(told(Life::begins, b, 1'100, "COMPUTE-1.example.org")));
}

TEST_F(Heard, ADeletionThatNamesNoHostIsThatOfWhoWasHeardOfHere) {
  hear(told(Life::ends, a, 1'200, ""));
  hear(told(Life::begins, a, 1'100));
  EXPECT_THAT(named(), IsEmpty()) << "it may have been elsewhere by then";
  hear(told(Life::ends, a, 1'200, ""));
  EXPECT_THAT(named(), ElementsAre(a));
}

TEST_F(Heard, HearsInAnyOrderAndTwice) {
  hear(told(Life::ends, a, 1'200));
  EXPECT_FALSE(hear(told(Life::begins, a, 1'100))) << "it is over";
  EXPECT_THAT(named(), ElementsAre(a));
  EXPECT_TRUE(hear(told(Life::begins, b, 1'300)));
  EXPECT_FALSE(hear(told(Life::begins, b, 1'301))) << "the legacy message of the same";
  hear(told(Life::ends, b, 1'400));
  EXPECT_TRUE(hear(told(Life::begins, b, 1'500))) << "off the shelf again";
  EXPECT_THAT(named(), ElementsAre(a));
}

TEST_F(Heard, ABuildThatFailedHasBegun) {
  EXPECT_FALSE(hear(told(Life::fails, a, 1'200)));
  hear(told(Life::fails, a, 1'201));
  EXPECT_THAT(named(), ElementsAre(a));
  hear(told(Life::begins, b, 900));
  hear(told(Life::fails, b, 1'200));
  EXPECT_THAT(named(), ElementsAre(a)) << "it began before";
}

TEST_F(Heard, TakesOneWithoutATimeForSentNow) {
  hear(told(Life::begins, a, 0));
  hear(told(Life::ends, a, 0));
  EXPECT_THAT(heard.within({kMuchLater, kMuchLater}, {}), ElementsAre(a));
}

TEST_F(Heard, TakesNothingForAnInstanceThatIsNoUuid) {
  EXPECT_FALSE(hear(told(Life::begins, "\"},{\"", 1'100)));
  hear(told(Life::ends, "\"},{\"", 1'200));
  EXPECT_THAT(named(), IsEmpty());
}

TEST_F(Heard, RemembersTheNewestOfMany) {
  for (int i = 0; i < 100; ++i) {
    hear(told(Life::begins, instance(i), 1'100 + i));
    hear(told(Life::ends, instance(i), 1'100 + i));
  }
  EXPECT_EQ(named().size(), kHeardMax);
  EXPECT_EQ(named().front(), instance(100 - static_cast<int>(kHeardMax)));
  EXPECT_EQ(heard.within(kGap, {a, b}).size(), kHeardMax);
}

// What a certificate and the record say, and what they do not.
struct HeardOf : ::testing::Test {
  HeardOf() : world(options()) {
    world.drive().sanitize_ms = 20'000;
    world.start_worker();
    world.pass(kMinuteMs);
  }
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = options.trace = true;
    return options;
  }
  [[nodiscard]] std::int64_t now() const { return world.scheduler.now().wall.ms; }
  void hear(Life life, const std::string& who, std::int64_t ago_ms = 0) {
    world.conductor->take(told(life, who, now() - ago_ms));
  }
  // Between two surveys; the bus is late.
  void tenancy() {
    world.pass(10'000);
    world.tenancy_begins();
    world.pass(2'000);
    world.tenancy_ends();
    world.drive().driver = "nvme";
    world.pass(1'000);
  }
  [[nodiscard]] Certificate certificate() {
    return *decode_certificate(world.disk.certificates.at(world.record().certificate_id));
  }
  void expect_cleaned(std::uint64_t times = 1) {
    EXPECT_EQ(world.record().stage, Stage::available);
    EXPECT_EQ(world.erases, times);
    EXPECT_EQ(world.provider().inventory.reserved, 0);
    EXPECT_EQ(certificate().instance, "");
    EXPECT_EQ(certificate().instance_source, "not_seen");
    EXPECT_EQ(certificate().project, "");
    EXPECT_THAT(world.record().heard, IsEmpty()) << "it is the next tenancy's";
    EXPECT_EQ(world.record().unseen, Gap{});
    EXPECT_EQ(world.failure.value_or(""), "");
  }
  World world;
  const std::string a = instance(1);
  const std::string b = instance(2);
};

TEST_F(HeardOf, ATenantWhomNoSurveySawIsInTheCertificateAndNotTakenForProven) {
  hear(Life::begins, b);
  hear(Life::ends, b);
  world.pass(2 * kMinuteMs);  // in which it is seen free
  tenancy();
  hear(Life::begins, a, 2'500);
  world.pass(500);
  ASSERT_EQ(world.record().stage, Stage::erasing);
  EXPECT_EQ(world.record().instance_source, InstanceSource::not_seen);
  hear(Life::ends, a, 500);
  world.pass(kHourMs);
  EXPECT_THAT(certificate().heard, ElementsAre(a));
  EXPECT_THAT(world.log.text, HasSubstr("no survey saw who had it; heard of, not proven: " + a));
  EXPECT_THAT(world.log.text, Not(HasSubstr("not proven: " + b)));
  for (const AuditEntry& entry : world.disk.audit) EXPECT_EQ(entry.instance, "");
  expect_cleaned();
}

TEST_F(HeardOf, NobodyWhereNobodyWasHeardOf) {
  tenancy();
  world.kick({0});
  world.pass(kHourMs);
  EXPECT_THAT(certificate().heard, IsEmpty());
  expect_cleaned();
}

TEST_F(HeardOf, NobodyBesideATenantWhomASurveySaw) {
  world.tenancy_begins();
  hear(Life::begins, a);
  world.pass(1'000);
  ASSERT_EQ(world.record().stage, Stage::allocated);
  world.tenancy_ends();
  world.drive().driver = "nvme";
  hear(Life::ends, a);
  world.pass(kHourMs);
  EXPECT_EQ(certificate().instance, "instance-1");
  EXPECT_THAT(certificate().heard, IsEmpty());
  EXPECT_EQ(world.failure.value_or(""), "");
}

// The record has it; what only the worker knew is lost.
TEST_F(HeardOf, WhatTheRecordHasSurvivesTheWorker) {
  tenancy();
  hear(Life::begins, a, 2'500);
  hear(Life::ends, a, 500);
  world.pass(1'000);
  ASSERT_THAT(world.record().heard, ElementsAre(a));
  world.kill_worker();
  world.start_worker();
  world.pass(1'000);
  hear(Life::begins, b, 6'000);
  hear(Life::ends, b, 5'000);
  world.pass(kHourMs);
  EXPECT_THAT(certificate().heard, ElementsAre(a, b));
  expect_cleaned();
}

TEST_F(HeardOf, InTheTimeOfALostReleaseToo) {
  tenancy();
  world.kick({0});
  for (int i = 0; i < 60'000 && world.record().stage != Stage::releasing; ++i) world.pass(1);
  ASSERT_EQ(world.record().stage, Stage::releasing);
  world.faults.put_lost_done = 1;
  for (int i = 0; i < 60'000 && world.record().stage != Stage::confirming; ++i) world.pass(1);
  ASSERT_EQ(world.record().stage, Stage::confirming);
  world.kill_worker();
  world.faults.put_lost_done = 0;
  ASSERT_EQ(world.provider().inventory.reserved, 0);
  world.tenancy_begins();
  world.pass(1'000);
  world.tenancy_ends();
  world.drive().driver = "nvme";
  world.start_worker();
  world.pass(100);
  hear(Life::begins, a, 1'000);
  hear(Life::ends, a, 100);
  world.pass(kHourMs);
  EXPECT_EQ(world.erases, 2U);
  EXPECT_THAT(certificate().heard, ElementsAre(a));
  EXPECT_EQ(certificate().instance_source, "not_seen");
  EXPECT_EQ(world.failure.value_or(""), "");
}

// Until the operator says that it was no hold of his.
TEST_F(HeardOf, OfABuildThatFailedAndIsLeftToTheOperatorToo) {
  world.conductor_options.failed_builds = FailedBuilds::wait;
  tenancy();
  world.kick({0});
  world.pass(kHourMs);
  world.kill_worker();
  const std::string uuid = world.provider().row.uuid;
  ASSERT_TRUE(world.placement.allocate(uuid, a));
  world.placement.set_reserved_by(Offered::no, uuid, 1);
  world.pass(1'500);
  world.placement.deallocate(uuid, a);
  const std::int64_t failed = now();
  world.pass(kMinuteMs);
  world.start_worker();
  world.pass(kHourMs);
  ASSERT_EQ(world.erases, 1U);
  hear(Life::fails, a, now() - failed);
  hear(Life::begins, b, 5 * kMinuteMs);
  world.command("clean", world.slots[0].address);
  world.pass(kHourMs);
  EXPECT_THAT(certificate().heard, ElementsAre(a));
  expect_cleaned(2);
}

// Of a device in the pool nothing follows from it, whatever is told.
TEST_F(HeardOf, NothingFollowsForADeviceThatNobodyHad) {
  const auto before = world.record();
  for (int i = 0; i < 100; ++i) {
    hear(Life::begins, instance(i), 100);
    hear(Life::ends, instance(i), 50);
    hear(Life::fails, instance(i));
    world.pass(500);
  }
  world.pass(kHourMs);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.record().epoch, before.epoch);
  EXPECT_THAT(world.record().heard, IsEmpty());
  EXPECT_EQ(world.provider().inventory.reserved, 0);
}

// In which pause between two surveys it is seen.
struct FirstLook : HeardOf {
  void after_a_survey() {
    world.pass(kMinuteMs / 2);
    world.kick({0});
    world.pass(250);
  }
};

TEST_F(FirstLook, WhoBeginsIsLookedAtAtOnce) {
  after_a_survey();
  world.tenancy_begins();
  hear(Life::begins, a);
  world.pass(250);
  EXPECT_EQ(world.record().stage, Stage::allocated);
}

TEST_F(FirstLook, OnceAnInstance) {
  hear(Life::begins, a);
  after_a_survey();
  world.tenancy_begins();
  hear(Life::begins, a);
  world.pass(250);
  EXPECT_EQ(world.record().stage, Stage::available);
  world.pass(2'000);
  EXPECT_EQ(world.record().stage, Stage::allocated);
}

TEST_F(FirstLook, AFloodOfThemIsNoFloodOfSurveys) {
  after_a_survey();
  const auto before = world.conductor->counters().surveys;
  for (int i = 0; i < 200; ++i) {
    hear(Life::begins, instance(i));
    world.pass(100);
  }
  EXPECT_LE(world.conductor->counters().surveys - before, 12U) << "in 20 s";
}

}  // namespace
}  // namespace reclaim::sim
