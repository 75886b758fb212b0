// A device that was ours and that no device_spec entry matches any more is let go: record and
// ledger forget it, and from the decision on nothing reserves it or calls it dirty, whatever
// becomes of the record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

struct Disown : ::testing::Test {
  Disown() {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  Slot& slot() { return world->slots.front(); }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  [[nodiscard]] int written() { return world->placement.requests().set_reserved; }
  [[nodiscard]] bool dirty() { return world->disk.entries.at(slot().address).dirty; }
  void offer() {
    world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  }
  void start() {
    world->start_worker();
    world->pass(kMinuteMs);
  }
  void look() {
    world->kick({0});
    world->pass(kHalfHourMs);
  }
  // Burned by a tenant, kept from being cleaned, and its entry is gone.
  void left_dirty() {
    start();
    world->tenancy_begins();
    look();
    world->drive().guarded = true;
    world->tenancy_ends();
    look();
    // Now and then it is tried.
    for (int ms = 0; ms < kMinuteMs && world->record().stage == Stage::guarding; ++ms) {
      world->pass(1);
    }
    ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
    slot().ours = false;
    look();
    ASSERT_EQ(reserved(), 1);
    ASSERT_TRUE(dirty());
  }
  Order issued() {
    Order order;
    order.order = "disown";
    order.address = to_string(slot().address);
    order.who = "alice@compute-1";
    order.request_id = "req-" + std::to_string(++orders_);
    order.issued_at = world->scheduler.now().wall;
    order.id = std::to_string(order.issued_at.ms) + "-0";
    order.mac = world->order_code;
    order.reason = "it goes to the test rack";
    slot().disown_ordered = true;
    return order;
  }
  std::string answer(const Order& order, std::int64_t within_ms = kMinuteMs) {
    world->conductor->take(order);
    world->pass(within_ms);
    const auto found = world->store.order_answers.find(order.request_id);
    return found == world->store.order_answers.end() ? "no answer" : found->second;
  }
  void expect_let_go() {
    EXPECT_EQ(world->record().stage, Stage::available);
    EXPECT_FALSE(world->record().cleanable());
    EXPECT_FALSE(dirty());
  }

  int orders_ = 0;
  std::optional<World> world;
};

TEST_F(Disown, AnOlderRecordThatIsPutBackMakesNothingOursAgain) {
  left_dirty();
  const Record before = world->record();
  EXPECT_EQ(answer(issued()), "");
  expect_let_go();
  world->pass(kHalfHourMs);
  world->kill_worker();
  Record older = before;
  older.epoch -= 1;
  world->store.put_back(older);
  offer();
  const int writes = written();
  start();
  look();
  EXPECT_FALSE(dirty());
  EXPECT_EQ(written(), writes);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_FALSE(world->record().cleanable());
}

TEST_F(Disown, ItIsForgottenAndNeitherPlacementNorTheDeviceIsTouched) {
  left_dirty();
  const int before = written();
  EXPECT_EQ(answer(issued()), "");
  expect_let_go();
  EXPECT_EQ(reserved(), 1) << "un-reserving it is the operator's own business";
  EXPECT_TRUE(
      std::any_of(world->disk.audit.begin(), world->disk.audit.end(), [](const AuditEntry& entry) {
        return entry.event == AuditEvent::disowned &&
               entry.detail.find("test rack") != std::string::npos &&
               entry.detail.find("alice@") != std::string::npos;
      }));
  offer();
  look();
  world->kill_worker();
  start();
  look();
  expect_let_go();
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(written(), before);
  EXPECT_EQ(world->erases, 0U);
}

TEST_F(Disown, SoIsWhatIsInError) {
  left_dirty();
  world->command("abort", slot().address);
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::error);
  look();
  EXPECT_THAT(world->record().waiting_for, HasSubstr("reclaim device disown"));
  EXPECT_EQ(answer(issued()), "");
  expect_let_go();
}

TEST_F(Disown, AnEntryThatMatchesItLaterFindsADeviceThatWasNeverSeen) {
  left_dirty();
  EXPECT_EQ(answer(issued()), "");
  world->drive().guarded = false;
  slot().ours = true;
  look();
  EXPECT_EQ(world->releases, 1U) << world->record().waiting_for;
  EXPECT_EQ(world->record().stage, Stage::available);
}

// -------------------------------------------------------------------------------------------------
// Refused.

TEST_F(Disown, RefusedWhileAnEntryMatches) {
  start();
  EXPECT_THAT(answer(issued()), HasSubstr("a device_spec entry still matches it"));
  EXPECT_EQ(world->record().type, kTypeNvme);
  left_dirty();
  slot().ours = true;
  EXPECT_THAT(answer(issued()), HasSubstr("still matches it")) << "as the configuration is now";
  EXPECT_TRUE(dirty());
}

TEST_F(Disown, RightAfterTheEntryWasTakenOutTheReloadCounts) {
  left_dirty();
  slot().ours = true;
  look();
  world->command("abort", slot().address);
  look();
  ASSERT_EQ(world->record().stage, Stage::error);
  slot().ours = false;
  world->reload();
  EXPECT_EQ(answer(issued()), "");
  expect_let_go();
}

TEST_F(Disown, RefusedWhileItIsCleaned) {
  start();
  world->tenancy_begins();
  look();
  world->drive().sanitize_ms = 10 * kMinuteMs;
  world->tenancy_ends();
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::erasing);
  slot().was_ours = true;
  slot().ours = false;
  EXPECT_THAT(answer(issued()), HasSubstr("reclaim device abort"));
  EXPECT_TRUE(dirty());
  slot().ours = true;
}

TEST_F(Disown, RefusedForWhatWasNeverOurs) {
  slot().ours = false;
  start();
  EXPECT_THAT(answer(issued()), HasSubstr("not Reclaim's"));
  EXPECT_FALSE(dirty()) << "all that the ledger knows is when the order was issued";
}

TEST_F(Disown, RefusedWithoutAReasonOrACodeAndASecondTime) {
  left_dirty();
  Order silent = issued();
  silent.reason.clear();
  EXPECT_THAT(answer(silent), HasSubstr("--reason"));
  Order forged = issued();
  forged.mac = "a guess";
  EXPECT_THAT(answer(forged), HasSubstr("not authenticated"));
  EXPECT_TRUE(dirty());
  const Order order = issued();
  EXPECT_EQ(answer(order), "");
  Order again = order;
  again.request_id = "req-again";
  EXPECT_NE(answer(again), "") << "what was heard is not heard twice";
}

// -------------------------------------------------------------------------------------------------
// The decision counts though its record is not durable.

TEST_F(Disown, NothingReservesItWhileItsRecordCannotBeWritten) {
  left_dirty();
  const int before = written();
  world->store.set_away(true);
  EXPECT_EQ(answer(issued(), 30'000), "no answer");
  EXPECT_FALSE(dirty());
  offer();
  world->pass(kHalfHourMs);
  EXPECT_EQ(reserved(), 0) << "neither the close watch nor a survey reserves it";
  EXPECT_FALSE(dirty());
  world->store.set_away(false);
  world->pass(kHalfHourMs);
  expect_let_go();
  EXPECT_EQ(written(), before);
}

// On offer again at about the time of the order: whatever had been begun ends with the decision.
TEST_F(Disown, WhatWasBegunEndsWithTheDecision) {
  left_dirty();
  // 13 is a prime: the tries do not keep step with the worker's own timers.
  for (std::int64_t ahead_ms = 0; ahead_ms <= 3'000; ahead_ms += 13) {
    offer();
    world->pass(ahead_ms);
    std::string refusal = answer(issued(), 5'000);
    for (int tries = 0; refusal != "" && tries < 20; ++tries) refusal = answer(issued(), 500);
    ASSERT_EQ(refusal, "") << ahead_ms;
    const int before = written();
    offer();
    world->pass(kMinuteMs);
    EXPECT_EQ(written(), before) << ahead_ms;
    EXPECT_EQ(reserved(), 0) << ahead_ms;
    expect_let_go();
    // And once more, dirty.
    slot().ours = true;
    slot().disowned = false;
    world->pass(2 * kMinuteMs);
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->tenancy_ends();
    world->kick({0});
    world->pass(kMinuteMs);
    slot().was_ours = true;
    slot().ours = false;
    ASSERT_TRUE(dirty()) << ahead_ms;
  }
}

TEST_F(Disown, ADiskThatIsFullDelaysIt) {
  left_dirty();
  world->disk.full = true;
  EXPECT_NE(answer(issued()), "") << "not even the order can be remembered";
  EXPECT_TRUE(world->record().cleanable());
  world->disk.full = false;
  EXPECT_EQ(answer(issued()), "");
  expect_let_go();
}

TEST_F(Disown, ACrashBeforeTheRecordLeavesItAsItWas) {
  left_dirty();
  world->store.set_away(true);
  EXPECT_EQ(answer(issued(), 30'000), "no answer");
  EXPECT_FALSE(dirty());
  world->kill_worker();
  slot().disowned = false;
  world->store.set_away(false);
  offer();
  start();
  look();
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(reserved(), 1);
  EXPECT_TRUE(dirty()) << "in doubt it is ours, and dirty";
  EXPECT_EQ(answer(issued()), "");
  expect_let_go();
}

TEST_F(Disown, ALostRedisChangesNothing) {
  left_dirty();
  EXPECT_EQ(answer(issued()), "");
  offer();
  const int before = written();
  world->kill_worker();
  world->store.lose_everything();
  start();
  look();
  expect_let_go();
  EXPECT_EQ(written(), before);
  EXPECT_EQ(reserved(), 0);
}

}  // namespace
}  // namespace reclaim::sim
