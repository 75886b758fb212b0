// What becomes of a cleaning that takes longer than it may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct CleaningDeadline : ::testing::Test {
  CleaningDeadline() {
    WorldOptions options;
    options.scripted = options.trace = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    look();
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void tenancy_ends() {
    world->tenancy_ends();
    look();
  }
  void expect_overdue() {
    EXPECT_EQ(world->record().stage, Stage::error);
    EXPECT_THAT(world->record().last_error,
                AllOf(HasSubstr("it did not come to its end in time: it may take at most 900 s: "
                                "900 cleanup_timeout"),
                      HasSubstr("reclaim device clean 0000:")));
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_FALSE(world->drives->claimed(world->record().address));
    EXPECT_EQ(world->releases, 0U);
  }
  void expect_cleaned_again() {
    world->command("clean", world->slots.front().address);
    world->pass(20 * kMinuteMs);
    EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
    EXPECT_EQ(world->releases, 1U);
  }
  std::optional<World> world;
};

TEST_F(CleaningDeadline, AVerificationWithoutAnEndIsStopped) {
  world->drive().verify_ms = 30 * kHourMs;
  tenancy_ends();
  ASSERT_EQ(world->record().stage, Stage::verifying);
  world->pass(13 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::verifying);
  world->pass(3 * kMinuteMs);
  expect_overdue();
  world->drive().verify_ms = 0;
  expect_cleaned_again();
}

// The parts share one time: none begins another.
TEST_F(CleaningDeadline, IsThatOfTheWholeCleaning) {
  world->drive().sanitize_ms = 10 * kMinuteMs;
  world->drive().verify_ms = 10 * kMinuteMs;
  tenancy_ends();
  ASSERT_EQ(world->record().stage, Stage::erasing);
  world->pass(11 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::verifying);
  world->pass(5 * kMinuteMs);
  expect_overdue();
  world->drive().sanitize_ms = world->drive().verify_ms = kMinuteMs;
  expect_cleaned_again();
}

TEST_F(CleaningDeadline, BeginsAnewWithTheNextWorker) {
  world->drive().verify_ms = 13 * kMinuteMs;
  tenancy_ends();
  world->pass(10 * kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::verifying);
  world->kill_worker();
  world->start_worker();
  world->pass(20 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
  EXPECT_EQ(world->releases, 1U);
}

// What is erased and verified waits for Placement for as long as its claim holds.
TEST_F(CleaningDeadline, DoesNotEndTheWaitForPlacement) {
  world->drive().verify_ms = 5 * kMinuteMs;
  tenancy_ends();
  ASSERT_EQ(world->record().stage, Stage::verifying);
  world->placement.set_away(true);
  world->pass(20 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::looking);
  world->placement.set_away(false);
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
}

}  // namespace
}  // namespace reclaim::sim
