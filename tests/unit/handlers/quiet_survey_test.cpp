// A host where nothing happens asks Placement almost nothing, and sees all the same what does
// happen, though nobody tells it.
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

struct Quiet : ::testing::Test {
  Quiet() : world(options()) {
    world.conductor_options.full_survey_interval_ms = 24 * 60 * kMinuteMs;
    world.start_worker();
    world.pass(kMinuteMs / 2);
    world.placement.beside_root = 0;
    for (std::size_t i : {0U, 1U}) world.tenancy_begins(i);
    world.pass(5 * kMinuteMs);
  }
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 8;
    return options;
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }
  [[nodiscard]] Stage stage(std::size_t slot) { return world.record(slot).stage; }
  [[nodiscard]] int requests() const { return world.placement.requests().total(); }
  [[nodiscard]] std::uint64_t surveys() const { return world.conductor->counters().surveys; }

  World world;
};

// What a tenant has needs no close watch, also of a device that is seen for the first time.
TEST(QuietStart, ATenantThatIsThereAlreadyIsNotWatched) {
  World world(Quiet::options());
  world.tenancy_begins(0);
  world.start_worker();
  world.pass(5 * kMinuteMs);
  EXPECT_EQ(world.record(0).stage, Stage::allocated);
  EXPECT_EQ(world.placement.requests().watch, 0);
  EXPECT_EQ(world.failure.value_or(""), "");
}

TEST_F(Quiet, AnIdleSurveyIsTwoRequests) {
  ASSERT_EQ(stage(0), Stage::allocated);
  ASSERT_EQ(stage(2), Stage::available);
  const int before = requests();
  const auto surveyed = surveys();
  world.pass(30 * kMinuteMs);
  ASSERT_GE(surveys() - surveyed, 25U);
  EXPECT_LE(requests() - before, static_cast<int>(2 * (surveys() - surveyed)));
}

TEST_F(Quiet, OneOfAHostWithoutTenantsIsOneRequest) {
  for (std::size_t i : {0U, 1U}) world.tenancy_ends(i);
  world.pass(10 * kMinuteMs);
  for (std::size_t i : {0U, 1U}) ASSERT_EQ(stage(i), Stage::available);
  const int before = requests();
  const auto surveyed = surveys();
  world.pass(30 * kMinuteMs);
  EXPECT_EQ(requests() - before, static_cast<int>(surveys() - surveyed));
}

TEST_F(Quiet, ATenancyThatNobodyToldOfIsSeen) {
  world.tenancy_begins(3);
  world.pass(2 * kMinuteMs);
  EXPECT_EQ(stage(3), Stage::allocated);
}

TEST_F(Quiet, ADeviceThatIsFreedIsCleanedThoughNobodyToldOfIt) {
  for (std::size_t i : {0U, 1U}) {
    world.tenancy_ends(i);
    world.pass(3 * kMinuteMs);
    EXPECT_EQ(stage(i), Stage::available);
    EXPECT_EQ(world.erases, i + 1);
  }
}

TEST_F(Quiet, ADriveThatWasWrittenToIsReservedAndCleaned) {
  world.tenancy_ends(0);
  world.pass(5 * kMinuteMs);
  ASSERT_EQ(world.erases, 1U);
  world.drive(0).host_writes += 5;
  world.pass(3 * kMinuteMs);
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(stage(0), Stage::available);
}

TEST_F(Quiet, WhatAnOperatorReservesIsShownAsHeld) {
  world.tenancy_ends(0);
  world.pass(5 * kMinuteMs);
  world.placement.set_reserved_by(Offered::no, world.provider(0).row.uuid, 1);
  world.pass(2 * kMinuteMs);
  EXPECT_TRUE(world.record(0).held);
}

TEST_F(Quiet, ATraitThatGoesIsSeen) {
  world.provider(5).row.one_time_use = false;
  world.placement.touch(world.provider(5).row.uuid);
  world.pass(2 * kMinuteMs);
  world.tenancy_begins(5);
  world.tenancy_ends(5);
  world.pass(5 * kMinuteMs);
  EXPECT_EQ(stage(5), Stage::pending_cleaning);
  EXPECT_EQ(world.erases, 0U);
}

TEST_F(Quiet, AnEventOfAnInstanceHasItsDeviceReadAndNoOther) {
  const int read = world.placement.requests().read;
  Kick kick;
  kick.reason = "instance.update";
  kick.instance = world.slots.at(0).consumer;
  kick.delays_s = {0};
  world.conductor->take(kick);
  world.pass(5'000);
  EXPECT_EQ(world.placement.requests().read - read, 2);
  kick.instance = "";
  world.conductor->take(kick);
  world.pass(5'000);
  EXPECT_EQ(world.placement.requests().read - read, 2 + 2 * 8);
}

TEST_F(Quiet, AfterASurveyThatFailedAllIsReadAgain) {
  world.placement.set_away(true);
  world.pass(2 * kMinuteMs);
  const int read = world.placement.requests().read;
  world.placement.set_away(false);
  world.pass(2 * kMinuteMs);
  EXPECT_EQ(world.placement.requests().read - read, 2 * 8);
}

TEST_F(Quiet, WhatIsInErrorIsReadEachTime) {
  world.drive(0).guarded = true;
  world.tenancy_ends(0);
  world.pass(2 * kMinuteMs);
  world.command("abort", world.slots.at(0).address);
  world.pass(kMinuteMs);
  ASSERT_EQ(stage(0), Stage::error);
  const int read = world.placement.requests().read;
  const auto surveyed = surveys();
  world.pass(10 * kMinuteMs);
  EXPECT_EQ(world.placement.requests().read - read, static_cast<int>(2 * (surveys() - surveyed)));
}

}  // namespace
}  // namespace reclaim::sim
