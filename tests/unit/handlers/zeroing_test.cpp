// A zeroing that its worker did not end: the next one goes on from the last mark in the ledger, and
// from no other. Told step by step in a scripted world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "handlers/conductor/conductor.h"
#include "state/ledger/trust.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

WorldOptions scripted() {
  WorldOptions options;
  options.scripted = true;
  return options;
}

struct ZeroingTest : ::testing::Test {
  void SetUp() override {
    world.hardware.marks_zeroing = true;
    world.drive().capabilities.sanicap = 0;
    world.drive().capabilities.oncs = 8;
    world.drive().sanitize_ms = 5 * kMinuteMs;
    world.store.on_saved = [this, checks = world.store.on_saved](const Record& record,
                                                                 const JournalEntry& entry) {
      checks(record, entry);
      triggers.push_back(entry.trigger);
    };
    world.start_worker();
    world.pass(kMinuteMs);
    world.tenancy_begins();
    look();
    world.tenancy_ends();
    look();
    ASSERT_EQ(world.record().stage, Stage::erasing);
    ASSERT_NE(mark(), "");
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  [[nodiscard]] LedgerEntry& line() { return world.disk.entries.at(world.slots.front().address); }
  [[nodiscard]] const std::string& mark() { return line().cleaning.zero_mark; }
  [[nodiscard]] auto times(const std::string& trigger) const {
    return std::count(triggers.begin(), triggers.end(), trigger);
  }
  void expect_released() {
    world.pass(kHourMs);
    EXPECT_EQ(world.record().stage, Stage::available);
    EXPECT_EQ(world.releases, 1U);
    EXPECT_EQ(world.drive().owner, 0U);
    EXPECT_EQ(mark(), "");
  }

  World world{scripted()};
  std::vector<std::string> triggers;
};

TEST_F(ZeroingTest, GoesOnWhenItsWorkerWasKilled) {
  world.kill_worker();
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 1);
  EXPECT_EQ(times("baseline_taken"), 1);
  EXPECT_EQ(times("nothing_to_adopt"), 0);
  EXPECT_THAT(world.record().evidence, HasSubstr(R"("adopted":true)"));
}

TEST_F(ZeroingTest, GoesOnWhenItsWorkerWasStopped) {
  world.stop_worker();
  world.pass(kMinuteMs);
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 1);
}

TEST_F(ZeroingTest, BeginsAgainWhereAnotherWrote) {
  world.kill_worker();
  world.drive().version += 1;
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("nothing_to_adopt"), 1);
  EXPECT_EQ(times("baseline_taken"), 2);
  EXPECT_THAT(world.record().evidence, HasSubstr(R"("adopted":false)"));
}

TEST_F(ZeroingTest, BeginsAgainWhereTheLedgerHasNoMark) {
  world.kill_worker();
  line().cleaning.zero_mark.clear();
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 0);
  EXPECT_EQ(times("baseline_taken"), 2);
}

TEST_F(ZeroingTest, BeginsAgainWhereTheMarkIsOfAnotherCleaning) {
  world.kill_worker();
  line().cleaning.nonce = "of another";
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 0);
}

TEST_F(ZeroingTest, BeginsAgainAfterAnError) {
  world.command("abort", world.slots.front().address);
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(mark(), "");
  world.command("clean", world.slots.front().address);
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 0);
  EXPECT_EQ(times("baseline_taken"), 2);
}

// Of which Placement knows nothing.
TEST_F(ZeroingTest, BeginsAgainBehindAGuestThatSomebodyStartedByHand) {
  world.kill_worker();
  world.tenancy_begins();
  world.start_worker();
  world.pass(kMinuteMs);
  world.tenancy_ends();
  look();
  expect_released();
  EXPECT_EQ(times("nothing_to_adopt"), 1);
  EXPECT_EQ(times("baseline_taken"), 2);
}

TEST_F(ZeroingTest, ATenancySinceForgetsTheMark) {
  world.kill_worker();
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  world.tenancy_begins();
  world.start_worker();
  world.pass(kMinuteMs);
  EXPECT_EQ(mark(), "");
  world.tenancy_ends();
  look();
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 0);
}

// Killed when its zeroing had ended, and nothing had been given back.
struct EndedZeroing : ZeroingTest, ::testing::WithParamInterface<Stage> {
  void SetUp() override {
    ZeroingTest::SetUp();
    for (int ms = 0; ms < kHalfHourMs && world.record().stage != GetParam(); ++ms) world.pass(1);
    // Nothing waits for the last mark.
    for (int ms = 0; ms < kMinuteMs && !mark().ends_with("to its end"); ++ms) world.pass(1);
    ASSERT_EQ(world.record().stage, GetParam());
    ASSERT_EQ(times("erased"), 1);
    world.kill_worker();
    ASSERT_EQ(world.store.stored(world.slots.front().address)->stage, GetParam());
  }
  void expect_begins_again() {
    world.start_worker();
    expect_released();
    EXPECT_EQ(times("baseline_taken"), 2);
    EXPECT_THAT(world.record().evidence, HasSubstr(R"("adopted":false)"));
  }
};

TEST_P(EndedZeroing, IsVerifiedAgainAndNotErasedAgain) {
  const std::uint64_t writes = world.drive().host_writes;
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 1);
  EXPECT_EQ(times("baseline_taken"), 1);
  EXPECT_GE(times("verified"), 1);
  EXPECT_EQ(world.drive().host_writes, writes);
  EXPECT_THAT(world.record().evidence, HasSubstr(R"("adopted":true)"));
}

TEST_P(EndedZeroing, IsVerifiedAgainThoughItsWorkerIsKilledOnceMore) {
  world.start_worker();
  for (int ms = 0; ms < kHalfHourMs && times("erased") < 2; ++ms) world.pass(1);
  world.kill_worker();
  world.start_worker();
  expect_released();
  EXPECT_EQ(times("baseline_taken"), 1);
}

TEST_P(EndedZeroing, BeginsAgainWhereAnotherWrote) {
  world.drive().version += 1;
  expect_begins_again();
  EXPECT_EQ(times("nothing_to_adopt"), 1);
}

// Its tenant wrote nothing.
TEST_P(EndedZeroing, BeginsAgainWhereTheKernelHasAnotherDisk) {
  world.drive().disk += 1;
  expect_begins_again();
  EXPECT_EQ(times("nothing_to_adopt"), 1);
}

// Redis has lost that it went on to its release, which may have been made.
TEST_P(EndedZeroing, BeginsAgainWhereAReleaseWasAskedFor) {
  line().certificate_pending = R"({"id":"x"})";
  expect_begins_again();
  EXPECT_EQ(times("still_burned_adopt"), 0);
}

TEST_P(EndedZeroing, BeginsAgainWhereTheLedgerKnowsNewerDirt) {
  line().dirty_since.ms += kHourMs;
  expect_begins_again();
  EXPECT_EQ(times("still_burned_adopt"), 0);
}

TEST_P(EndedZeroing, BeginsAgainWhereTheLedgerHasNoMark) {
  line().cleaning.zero_mark.clear();
  expect_begins_again();
  EXPECT_EQ(times("still_burned_adopt"), 0);
}

TEST_P(EndedZeroing, BeginsAgainWhereItsProviderWasMadeAnew) {
  ASSERT_TRUE(world.placement.remove(world.provider().row.uuid));
  world.placement.create(world.slots.front().provider_name, true, false);
  expect_begins_again();
  EXPECT_EQ(times("still_burned_adopt"), 0);
}

TEST_P(EndedZeroing, WaitsForAnOperatorWhereThatIsConfigured) {
  world.conductor_options.interrupted_cleaning = InterruptedCleaning::error;
  world.start_worker();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  world.command("clean", world.slots.front().address);
  expect_released();
  EXPECT_EQ(times("still_burned_adopt"), 0);
  EXPECT_EQ(times("baseline_taken"), 2);
}

INSTANTIATE_TEST_SUITE_P(Before, EndedZeroing,
                         ::testing::Values(Stage::verifying, Stage::restoring, Stage::looking),
                         [](const auto& stage) { return std::string(to_string(stage.param)); });

// Nothing marks the end of a sanitize: a tenant may have come after it.
TEST(EndedSanitize, IsErasedAgain) {
  World world(scripted());
  world.hardware.marks_zeroing = true;
  world.start_worker();
  world.pass(kMinuteMs);
  world.tenancy_begins();
  world.kick({0});
  world.pass(kMinuteMs);
  world.tenancy_ends();
  world.kick({0});
  for (int ms = 0; ms < kHalfHourMs && world.record().stage != Stage::verifying; ++ms) {
    world.pass(1);
  }
  ASSERT_EQ(world.record().stage, Stage::verifying);
  const std::uint64_t erases = world.erases;
  world.kill_worker();
  world.start_worker();
  world.pass(kHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.erases, erases + 1);
  EXPECT_EQ(world.failure.value_or(""), "");
}

TEST(MarkOfZeroing, IsOfThisEraseAndNoOther) {
  const auto digest = [](const std::string& text) { return "digest of " + text; };
  LedgerEntry line;
  line.dirty = true;
  line.dirty_since = WallMs{5};
  line.cleaning = CleaningOnLedger{"n", "digest of b", "", "m"};
  Record record;
  record.erase_begun = true;
  record.cleaning_nonce = "n";
  record.baseline = "b";
  record.cleaning_started_at = WallMs{5};
  EXPECT_EQ(mark_of_zeroing(&line, record, digest), "m");
  EXPECT_EQ(mark_of_zeroing(nullptr, record, digest), "");
  const auto refused = [&](const std::function<void(LedgerEntry&, Record&)>& change) {
    LedgerEntry other = line;
    Record of = record;
    change(other, of);
    EXPECT_EQ(mark_of_zeroing(&other, of, digest), "");
  };
  refused([](auto&, auto& of) { of.erase_begun = false; });
  refused([](auto&, auto& of) { of.cleaning_nonce = "o"; });
  refused([](auto&, auto& of) { of.cleaning_nonce = ""; });
  refused([](auto&, auto& of) { of.baseline = "c"; });
  refused([](auto& other, auto&) { other.dirty_since = WallMs{6}; });
  refused([](auto& other, auto&) { other.dirty = false; });
  refused([](auto& other, auto&) { other.cleaning = CleaningOnLedger{}; });
}

}  // namespace
}  // namespace reclaim::sim
