// "Nothing tonight on this rack": no cleaning begins on a host that is paused.
#include "handlers/survey/host_pause.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::int64_t kHourMs = 60 * kMinuteMs;

struct HostPaused : ::testing::Test {
  void SetUp() override {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 2;
    world.emplace(options);
    world->conductor_options.survey_interval_ms = kMinuteMs;
    world->start_worker();
    world->pass(kMinuteMs);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  // Of the first slot's device, as an operator with a key gives it.
  void order(const std::string& what, std::int64_t lasts_ms = 0, bool proven = true) {
    Order made;
    made.order = what;
    made.address = to_string(world->record().address);
    made.who = "alice@controller-1";
    made.reason = "power work";
    made.issued_at = world->scheduler.now().wall;
    if (lasts_ms > 0) made.until = WallMs{made.issued_at.ms + lasts_ms};
    made.id = fmt::format("{}-0", made.issued_at.ms);
    if (proven) made.mac = world->order_code;
    world->conductor->take(made);
    world->pass(1'000);
  }
  // What the worker says of itself.
  [[nodiscard]] HostInfo told() {
    HostInfo info;
    world->store.hosts([&info](Result<std::vector<HostInfo>> hosts) {
      if (hosts && !hosts->empty()) info = hosts->front();
    });
    world->pass(1'000);
    return info;
  }
  void tenant_comes_and_goes(std::size_t slot) {
    world->tenancy_begins(slot);
    world->kick({0});
    world->pass(kMinuteMs);
    world->tenancy_ends(slot);
    world->kick({0});
  }
  // Whichever device the order named.
  void expect_waiting(std::size_t slot) {
    EXPECT_EQ(world->record(slot).stage, Stage::pending_cleaning);
    EXPECT_THAT(world->record(slot).waiting_for, StartsWith(std::string(kPaused)));
    EXPECT_THAT(world->record(slot).waiting_for,
                HasSubstr("by operator alice@controller-1: 'power work'; `reclaim host resume"));
    EXPECT_EQ(world->erases, 0U);
  }

  std::optional<World> world;
};

TEST_F(HostPaused, ErasesNothingUntilItsTimeAndGoesOnByItself) {
  order("pause", kHourMs);
  for (const std::size_t slot : {0U, 1U}) tenant_comes_and_goes(slot);
  world->pass(50 * kMinuteMs);
  for (const std::size_t slot : {0U, 1U}) expect_waiting(slot);
  world->pass(15 * kMinuteMs);
  EXPECT_EQ(world->releases, 2U);
  EXPECT_THAT(world->record(0).waiting_for, IsEmpty());
}

TEST_F(HostPaused, StaysSoThoughItsWorkerIsStartedAgain) {
  order("pause", kHourMs);
  tenant_comes_and_goes(1);
  world->kill_worker();
  world->start_worker();
  world->pass(30 * kMinuteMs);
  expect_waiting(1);
  EXPECT_EQ(told().paused_by, "operator alice@controller-1: 'power work'");
}

TEST_F(HostPaused, IsResumedByAnOperator) {
  order("pause", 10 * kHourMs);
  tenant_comes_and_goes(0);
  world->pass(10 * kMinuteMs);
  expect_waiting(0);
  order("resume");
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(told().paused_until.ms, 0);
}

// Its release too: nobody would have its drive back in the morning otherwise.
TEST_F(HostPaused, EndsWhatHasBegun) {
  world->drive(0).sanitize_ms = 10 * kMinuteMs;
  tenant_comes_and_goes(0);
  world->pass(5 * kMinuteMs);
  ASSERT_EQ(world->record(0).stage, Stage::erasing);
  order("pause", 10 * kHourMs);
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(HostPaused, IsNobodysWordWhoProvesNothing) {
  order("pause", kHourMs, false);
  tenant_comes_and_goes(0);
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
}

// Its drive was pulled, Nova deleted its provider, and Redis lost its record.
TEST_F(HostPaused, IsResumedOnLinesWithoutADevice) {
  const PciAddress gone = world->slots.at(1).address;
  order("pause", kHourMs);
  world->kill_worker();
  auto& lines = world->disk.entries;
  lines[gone].paused_until = lines.at(world->slots.at(0).address).paused_until;
  world->drive(1).present = false;
  world->placement.remove(world->provider(1).row.uuid);
  world->store.lose_everything();
  world->start_worker();
  world->pass(kMinuteMs);
  order("resume");
  world->pass(kMinuteMs);
  EXPECT_EQ(lines.at(gone).paused_until.ms, 0);
  EXPECT_EQ(told().paused_until.ms, 0);
}

TEST(NoPause, IsOneThatAClockMadeTooLongWhichWasSetSince) {
  const WallMs now{1'800'000'000'000};
  std::map<PciAddress, LedgerEntry> lines;
  LedgerEntry& line = lines[PciAddress{}];
  line.paused_until = WallMs{now.ms + kPauseMaxMs};
  EXPECT_TRUE(host_pause(lines, now).has_value());
  line.paused_until.ms += 1;
  EXPECT_FALSE(host_pause(lines, now).has_value());
}

TEST(NoPause, IsWhatHasNoReasonNoEndOrNoneSoon) {
  const WallMs now{1'800'000'000'000};
  Order order;
  order.until = WallMs{now.ms + 1};
  EXPECT_THAT(why_no_pause(order, now), HasSubstr("--reason"));
  order.reason = "x";
  EXPECT_THAT(why_no_pause(order, now), IsEmpty());
  order.until = now;
  EXPECT_THAT(why_no_pause(order, now), HasSubstr("--until"));
  order.until = WallMs{now.ms + kPauseMaxMs + 1};
  EXPECT_THAT(why_no_pause(order, now), HasSubstr("7 days"));
}

}  // namespace
}  // namespace reclaim::sim
