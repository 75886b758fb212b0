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

using ::testing::HasSubstr;

struct Schedule : ::testing::Test {
  Schedule() : world(options()) {}
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = options.trace = true;
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
    kick.host = world.conductor_options.host;
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

TEST_F(Schedule, AMarkWithinTheSpacingIsServedWhenItIsOver) {
  start();
  world.kick({0});
  world.pass(250);
  const auto before = surveys();
  world.tenancy_begins();
  world.mark("instance.create.end", world.slots.front().consumer);
  world.pass(250);
  EXPECT_EQ(surveys(), before);
  world.pass(2'250);
  EXPECT_EQ(surveys(), before + 1);
  EXPECT_EQ(world.record().stage, Stage::allocated);
}

TEST_F(Schedule, WhatEndsATenancyGoesIntoTheSpacingOnce) {
  start();
  world.tenancy_begins();
  world.mark("instance.create.end", world.slots.front().consumer);
  world.pass(250);
  ASSERT_EQ(world.record().stage, Stage::allocated);
  world.tenancy_ends();
  world.drive().driver = "nvme";
  world.kick({0, 5, 30});
  world.pass(250);
  EXPECT_THAT(world.log.text, HasSubstr("allocated -> pending_cleaning"));
  const auto before = surveys();
  world.kick({0});
  world.pass(1'000);
  EXPECT_EQ(surveys(), before) << "the spacing is owed";
}

// The survey that the end wants begins while another one runs, and must not wait for its spacing.
TEST_F(Schedule, WhatEndsATenancyWhileASurveyRunsIsSeenRightAfterIt) {
  start();
  world.tenancy_begins();
  world.mark("instance.create.end", world.slots.front().consumer);
  world.pass(kMinuteMs / 2);
  const auto before = surveys();
  world.mark("instance.create.end", "another");
  world.pass(1);
  world.tenancy_ends();
  world.drive().driver = "nvme";
  world.kick({0, 5, 30});
  world.pass(250);
  EXPECT_EQ(surveys(), before + 2);
  EXPECT_THAT(world.log.text, HasSubstr("allocated -> pending_cleaning"));
}

TEST_F(Schedule, NoSurveyIsMadeForTheBeginOfADeletionWhoseTenancyIsOnRecord) {
  start();
  world.tenancy_begins();
  const std::string instance = world.slots.front().consumer;
  auto before = surveys();
  world.mark("compute.instance.delete.start", instance);
  world.pass(250);
  EXPECT_EQ(surveys(), before + 1) << "nobody has seen it yet";
  ASSERT_EQ(world.record().instance, instance);
  world.pass(5'000);
  before = surveys();
  for (const char* reason : {"instance.delete.start", "compute.instance.delete.start"}) {
    world.mark(reason, instance);
    world.pass(3'000);
  }
  EXPECT_EQ(surveys(), before);
  // Of another instance, or of none that is named, it is news.
  for (const char* other : {"another", ""}) {
    world.mark("instance.delete.start", other);
    world.pass(3'000);
  }
  EXPECT_EQ(surveys(), before + 2);
  // What begins may begin on another device of the same instance.
  world.mark("instance.resize_prep.end", instance);
  world.pass(3'000);
  EXPECT_EQ(surveys(), before + 3);
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
  EXPECT_EQ(world.erases, 1U);
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

// A schedule alone, whose surveys end when the test says so.
struct Alone {
  explicit Alone(std::uint64_t seed = 1, SurveySchedule::Times times = {})
      : schedule(time, time, times, seed,
                 [this](bool /*periodic*/) { began.push_back(time.now_ms()); }) {}
  void pass(std::int64_t ms) {
    for (const std::int64_t until = time.now_ms() + ms; time.step(until);) {
    }
  }
  // One begins within a millisecond, and ends at once.
  [[nodiscard]] bool begins() {
    const std::size_t before = began.size();
    pass(1);
    if (began.size() == before) return false;
    schedule.ended();
    return true;
  }

  Rng rng{1};
  Scheduler time{rng};
  std::vector<std::int64_t> began;
  SurveySchedule schedule;
};

// A survey of `took_ms` follows the other, and somebody wants one every 10 ms.
std::size_t surveys_in_a_flood(std::int64_t took_ms, bool hurried, std::int64_t lasts_ms) {
  Alone host;
  std::size_t ended = 0;
  for (const std::int64_t until = host.time.now_ms() + lasts_ms; host.time.now_ms() < until;) {
    hurried ? host.schedule.want_at_once() : host.schedule.want(0);
    host.pass(10);
    if (host.began.size() == ended || host.time.now_ms() - host.began.back() < took_ms) continue;
    host.schedule.ended();
    ended += 1;
  }
  return host.began.size();
}

TEST(HurriedSurveys, AreOneMoreInAFloodOfAnyLength) {
  for (const std::int64_t took_ms : {10, 400, 1'900, 2'500, 10'000}) {
    for (const std::int64_t lasts_ms : {std::int64_t{10'000}, kMinuteMs, 5 * kMinuteMs}) {
      const std::size_t plain = surveys_in_a_flood(took_ms, false, lasts_ms);
      const std::size_t hurried = surveys_in_a_flood(took_ms, true, lasts_ms);
      EXPECT_GE(hurried, plain) << took_ms << " " << lasts_ms;
      EXPECT_LE(hurried, plain + 1) << took_ms << " " << lasts_ms;
    }
  }
}

TEST(HurriedSurveys, GoIntoOnePauseAndAgainWhenAsLongAPauseWasLeftUnused) {
  SurveySchedule::Times times;
  times.interval_ms = kDayMs;
  Alone host(1, times);
  host.schedule.want(0);
  ASSERT_TRUE(host.begins());
  host.schedule.want_at_once();
  EXPECT_TRUE(host.begins());
  host.schedule.want_at_once();
  EXPECT_FALSE(host.begins());
  host.pass(2'000);
  host.schedule.ended();
  // Each pause is used, so that nothing is paid back.
  for (int i = 0; i < 5; ++i) {
    host.schedule.want_at_once();
    EXPECT_FALSE(host.begins());
    host.pass(2'000);
    host.schedule.ended();
  }
  host.pass(5'000);
  host.schedule.want(0);
  ASSERT_TRUE(host.begins());
  host.schedule.want_at_once();
  EXPECT_TRUE(host.begins());
}

TEST(HurriedSurveys, DoNotAskASlowPlacementSooner) {
  Alone host;
  host.schedule.want(0);
  host.pass(10'000);
  host.schedule.want_at_once();
  host.schedule.ended();
  host.pass(9'999);
  EXPECT_EQ(host.began.size(), 1U);
}

// What was wanted when a survey of `took_ms` ended begins so long after it.
std::int64_t pause_after(std::int64_t took_ms, std::uint64_t seed) {
  Alone host(seed);
  host.schedule.want(0);
  host.pass(1);
  host.pass(took_ms);
  host.schedule.want(0);
  host.schedule.ended();
  const std::int64_t ended = host.time.now_ms();
  host.pass(10 * kMinuteMs);
  EXPECT_EQ(host.began.size(), 2U);
  return host.began.back() - ended;
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
