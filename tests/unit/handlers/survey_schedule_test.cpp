// When a host is surveyed: by a clock of its own, soon after a kick, and never one survey right
// after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;

struct Schedule : ::testing::Test {
  Schedule() : world(options()) {}
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 3;
    return options;
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }
  [[nodiscard]] std::uint64_t surveys() const { return world.conductor->counters().surveys; }
  void start() {
    world.start_worker();
    world.pass(kMinuteMs / 2);
  }
  void kick_of(const std::string& instance, std::vector<int> delays_s) {
    Kick kick;
    kick.reason = "instance.delete.end";
    kick.instance = instance;
    kick.delays_s = std::move(delays_s);
    world.conductor->take(kick);
  }

  World world;
};

// What stands in Redis is compared with the records by the periodic survey alone.
TEST_F(Schedule, KicksDoNotPutThePeriodicSurveyOff) {
  start();
  world.pass(kMinuteMs);
  world.store.lose_everything();
  for (int i = 0; i < 12; ++i) {
    world.kick({0});
    world.pass(10'000);
  }
  EXPECT_NE(world.store.stored(world.slots.front().address), nullptr);
}

TEST_F(Schedule, ThePeriodicSurveyThatFailsIsTriedAgainSoon) {
  start();
  world.placement.set_away(true);
  world.pass(2 * kMinuteMs);
  world.store.lose_everything();
  world.placement.set_away(false);
  world.pass(kMinuteMs / 2 + 5'000);
  EXPECT_NE(world.store.stored(world.slots.front().address), nullptr);
}

TEST_F(Schedule, TheFirstKickAfterAQuietTimeIsServedAtOnce) {
  start();
  const auto before = surveys();
  world.kick({0});
  world.pass(250);
  EXPECT_EQ(surveys(), before + 1);
}

TEST_F(Schedule, SurveysThatManyKicksWantAreTwoSecondsApart) {
  start();
  const int requests = world.placement.requests().total();
  const auto before = surveys();
  // A host is evacuated: 198 events in half a minute.
  for (int i = 0; i < 198; ++i) {
    kick_of("instance-" + std::to_string(i), {0, 5, 30});
    world.pass(150);
  }
  world.pass(35'000);
  EXPECT_LE(surveys() - before, 34U) << "in 65 s";
  EXPECT_LE(world.placement.requests().total() - requests, 34 * 9);
}

TEST_F(Schedule, AKickWithinTheSpacingIsServedWhenItIsOver) {
  start();
  world.kick({0});
  world.pass(250);
  const auto before = surveys();
  world.tenancy_begins();
  world.kick({0});
  world.pass(2'500);
  EXPECT_EQ(surveys(), before + 1);
  EXPECT_EQ(world.record().stage, Stage::allocated);
}

TEST_F(Schedule, AnOrderIsNotStarvedByKicks) {
  start();
  world.drive().guarded = true;
  world.tenancy_begins();
  world.tenancy_ends();
  world.drive().driver = "nvme";
  world.kick({0});
  world.pass(kMinuteMs / 2);
  world.command("abort", world.slots.front().address);
  world.pass(1'000);
  ASSERT_EQ(world.record().stage, Stage::error);
  world.drive().guarded = false;
  for (int i = 0; i < 50; ++i) {
    kick_of("instance-" + std::to_string(i), {0});
    if (i == 10) world.command("clean", world.slots.front().address);
    world.pass(100);
  }
  EXPECT_NE(world.record().stage, Stage::error);
  EXPECT_GE(world.erases, 1U);
}

}  // namespace
}  // namespace reclaim::sim
