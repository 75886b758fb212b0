// When a host is surveyed: by a clock of its own, soon after a kick, and never one survey right
// after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/schedule.h"
#include "tests/sim/rng.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

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

// What is in Redis is compared with the records by the periodic survey alone.
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

struct NoTimers final : Timers {
  std::uint64_t after(std::int64_t /*delay_ms*/, Once<> /*fire*/) override { return 1; }
  void cancel(std::uint64_t /*id*/) override {}
};

// Remembers when its one timer is due.
struct OneTimer final : Timers {
  std::uint64_t after(std::int64_t delay_ms, Once<> /*fire*/) override {
    due_ms = delay_ms;
    return 1;
  }
  void cancel(std::uint64_t /*id*/) override { due_ms = -1; }
  std::int64_t due_ms = -1;
};

TEST(FirstSurvey, ComesAtAnyTimeWithinWhatItIsGiven) {
  const SystemClock clock;
  std::set<std::int64_t> seconds;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    OneTimer timer;
    SurveySchedule schedule(timer, clock, {}, std::hash<std::string>{}(std::to_string(seed)),
                            [](bool /*periodic*/) {});
    schedule.begin(10'000);
    EXPECT_GE(timer.due_ms, 0);
    EXPECT_LT(timer.due_ms, 10'000);
    seconds.insert(timer.due_ms / 1'000);
    schedule.begin(10'000'000);
    EXPECT_LE(timer.due_ms, kMinuteMs) << "never later than the interval";
    schedule.want(0);
    EXPECT_EQ(timer.due_ms, 0) << "whoever wants one gets it at once";
  }
  EXPECT_EQ(seconds.size(), 10U);
}

// Where a fleet starts at once, its hosts' first surveys are spread by how many there are.
TEST_F(Schedule, TheFirstSurveyOfAFleetComesLater) {
  constexpr std::size_t kHosts = 1'200;
  std::size_t known = 0;
  for (std::size_t i = 0; i < kHosts; ++i) {
    HostInfo info;
    info.host = "compute-" + std::to_string(i + 2);
    world.store.heartbeat(info, [&](const Result<Ok>& done) { known += done.ok() ? 1 : 0; });
  }
  world.pass(kMinuteMs);
  ASSERT_EQ(known, kHosts);
  world.start_worker();
  world.pass(1'000);
  EXPECT_EQ(surveys(), 0U);
  world.pass(kMinuteMs);
  EXPECT_GE(surveys(), 1U);
}

// What was wanted when a survey of `took_ms` ended begins so long after it.
std::int64_t pause_after(std::int64_t took_ms, std::uint64_t seed) {
  Rng rng(1);
  Scheduler time(rng);
  std::vector<std::int64_t> began;
  SurveySchedule schedule(time, time, {}, seed,
                          [&](bool /*periodic*/) { began.push_back(time.now_ms()); });
  const auto pass = [&](std::int64_t ms) {
    for (const std::int64_t until = time.now_ms() + ms; time.step(until);) {
    }
  };
  schedule.want(0);
  pass(1);
  pass(took_ms);
  schedule.want(0);
  schedule.ended();
  const std::int64_t ended = time.now_ms();
  pass(10 * kMinuteMs);
  EXPECT_EQ(began.size(), 2U);
  return began.back() - ended;
}

TEST(SlowPlacement, IsAskedLessAndNotByAllAtOnce) {
  const SurveySchedule::Times times;
  std::set<std::int64_t> pauses;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::uint64_t host = std::hash<std::string>{}(std::to_string(seed));
    EXPECT_EQ(pause_after(times.spacing_ms / 2, host), times.spacing_ms);
    const std::int64_t pause_ms = pause_after(10'000, host);
    EXPECT_GE(pause_ms, 10'000);
    EXPECT_LT(pause_ms, 15'001);
    pauses.insert(pause_ms / 1'000);
    EXPECT_LE(pause_after(30 * kMinuteMs, host), times.interval_ms) << "never for long";
  }
  EXPECT_GE(pauses.size(), 5U);
}

// Any host may write kicks for another: each at another time, each for another instance.
TEST(ManyKicks, AreRememberedAsFewSurveys) {
  NoTimers timers;
  const SystemClock clock;
  SurveySchedule schedule(timers, clock, {}, 1, [](bool /*periodic*/) {});
  for (std::int64_t i = 0; i < 50'000; ++i) {
    schedule.want(i * 7'919 * 1'000 % 2'000'000'000, "instance-" + std::to_string(i));
  }
  EXPECT_LE(schedule.wanted(), 2'500U);
}

// -------------------------------------------------------------------------------------------------
// cleanings_max.

TEST_F(Schedule, ADriveThatWaitsForAThreadStartsWhenOneIsFree) {
  world.conductor_options.cleanings_max = 1;
  world.conductor_options.survey_interval_ms = 24 * 60 * kMinuteMs;
  start();
  for (std::size_t i : {0U, 1U, 2U}) {
    world.tenancy_begins(i);
    world.drive(i).sanitize_ms = kMinuteMs;
  }
  world.kick({0});
  world.pass(kMinuteMs);
  for (std::size_t i : {0U, 1U, 2U}) {
    world.tenancy_ends(i);
    world.drive(i).driver = "nvme";
  }
  world.kick({0});
  const auto busy = [this] {
    std::size_t count = 0;
    for (const Record& record : world.conductor->records()) count += is_busy(record.stage) ? 1 : 0;
    return count;
  };
  for (int i = 0; i < 40; ++i) {
    world.pass(6'000);
    EXPECT_LE(busy(), 1U);
  }
  EXPECT_EQ(world.releases, 3U);
}

// -------------------------------------------------------------------------------------------------
// Orders.

struct Ordered : Schedule, ::testing::WithParamInterface<const char*> {};

// An unmanaged drive, reserved without a tenancy that was seen: nothing but a survey tells whether
// an operator's word is needed.
TEST_P(Ordered, RightAfterARestartWaitForTheFirstSurvey) {
  for (Slot& slot : world.slots) {
    slot.managed = false;
    world.hardware.drives.at(slot.address).home = "vfio-pci";
    world.hardware.drives.at(slot.address).driver = "vfio-pci";
  }
  start();
  world.tenancy_begins();
  world.kick({0});
  world.pass(kMinuteMs);
  world.tenancy_ends();
  world.drive().driver = "vfio-pci";
  world.kick({0});
  world.pass(kMinuteMs);
  ASSERT_EQ(world.releases, 1U);
  world.drive().guarded = true;  // its counters cannot be read behind a claim
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  world.kick({0});
  world.pass(kMinuteMs);
  ASSERT_NE(world.record().waiting_for, "");
  world.kill_worker();
  world.drive().guarded = std::string_view(GetParam()) != "clean";
  std::string journal;
  const auto checks = world.store.on_saved;
  world.store.on_saved = [&](const Record& record, const JournalEntry& entry) {
    checks(record, entry);
    journal += entry.trigger + "\n";
  };
  world.placement.set_away(true);
  world.start_worker();
  world.pass(1'000);
  world.command(GetParam(), world.slots.front().address);
  world.pass(5'000);
  world.placement.set_away(false);
  world.pass(2 * kMinuteMs);
  if (std::string_view(GetParam()) == "clean") {
    EXPECT_EQ(world.releases, 2U);
  } else {
    EXPECT_THAT(journal, ::testing::HasSubstr("enrol_refused")) << "it is judged, not lost";
  }
}

INSTANTIATE_TEST_SUITE_P(Given, Ordered, ::testing::Values("clean", "enrol"));

// -------------------------------------------------------------------------------------------------
// Cyborg's API.

TEST(SlowCyborg, DelaysNoSurveyOfNovasDevices) {
  WorldOptions options;
  options.scripted = options.cyborg = true;
  options.scripted_slots = 2;
  World world(options);
  world.slots[1].cyborg = false;
  world.provider(1).row.owner_cyborg = false;
  world.provider(1).row.one_time_use = true;
  world.start_worker();
  world.pass(kMinuteMs / 2);
  world.cyborg.slow_ms = 20 * kMinuteMs;
  for (std::size_t i : {0U, 1U}) world.tenancy_begins(i);
  world.kick({0});
  world.pass(1'000);
  EXPECT_EQ(world.record(1).stage, Stage::allocated);
  EXPECT_EQ(world.record(0).stage, Stage::available) << "Cyborg's waits, but not for long";
  world.pass(4'000);
  EXPECT_EQ(world.record(0).stage, Stage::allocated);
  // It has not answered yet: what is Cyborg's does not wait for it with each survey again.
  world.tenancy_ends(1);
  world.drive(1).driver = "nvme";
  world.kick({0});
  world.pass(kMinuteMs);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_EQ(world.failure.value_or(""), "");
}

}  // namespace
}  // namespace reclaim::sim
