// Surveys that do not go through: one drive that hangs leaves the others as they are, and a survey
// that never ends is told of.
#include "handlers/survey/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

struct Surveys : ::testing::Test {
  Surveys() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 2;
    options.trace = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
  }
  [[nodiscard]] std::size_t alarms() const {
    std::size_t count = 0;
    constexpr std::string_view kAlarm = "ERROR reclaim.conductor no survey has gone through";
    for (auto at = world->log.text.find(kAlarm); at != std::string::npos;
         at = world->log.text.find(kAlarm, at + 1)) {
      ++count;
    }
    return count;
  }
  std::optional<World> world;
};

TEST_F(Surveys, ADriveThatHangsIsShownAndTheOthersAreCleaned) {
  for (std::size_t slot : {0U, 1U}) world->tenancy_begins(slot);
  world->kick({0});
  world->pass(kMinuteMs);
  world->drive(0).hangs = true;
  for (std::size_t slot : {0U, 1U}) world->tenancy_ends(slot);
  world->kick({0});
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(world->record(1).stage, Stage::available);
  EXPECT_EQ(world->record(0).stage, Stage::pending_cleaning);
  EXPECT_EQ(world->record(0).waiting_for, "it does not answer in time");
  EXPECT_EQ(alarms(), 0U);
  EXPECT_EQ(world->failure.value_or(""), "");
}

TEST_F(Surveys, OneThatNeverEndsIsAnAlarmAndOnlyOne) {
  world->hardware.discovery_hangs = true;
  world->kick({0});
  world->pass(3 * kMinuteMs);
  EXPECT_EQ(alarms(), 0U);
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(alarms(), 1U);
  EXPECT_THAT(world->log.text, HasSubstr("restart the worker"));
}

TEST_F(Surveys, ThatFailForLongAreAnAlarmThatEnds) {
  world->placement.set_away(true);
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(alarms(), 1U);
  world->placement.set_away(false);
  world->pass(5 * kMinuteMs);
  EXPECT_THAT(world->log.text, HasSubstr("surveys go through again"));
  world->pass(60 * kMinuteMs);
  EXPECT_EQ(alarms(), 1U);
}

}  // namespace
}  // namespace reclaim::sim
