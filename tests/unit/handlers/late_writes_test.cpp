// Writes of `reserved` whose answer is lost, or that Placement makes later than anybody expects. In
// a scripted world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSentMs = 3'000;

struct LateWrites : ::testing::Test {
  void begin(bool cyborg, bool drive = true) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    world.emplace(options);
    if (!drive) make_a_card();
    world->placement.keep_late = [this](const placement::ProviderView&, std::int64_t reserved,
                                        std::function<void()> make) {
      world->faults.put_lost_late = 0;
      late_reserved = reserved;
      late = std::move(make);
    };
    world->start_worker();
    world->pass(kMinuteMs);
    if (drive) clean_once();
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  // Of another driver of Cyborg's, reserved while it is bound.
  void make_a_card() {
    world->drive() = Drive{};
    world->drive().address = slot().address;
    world->drive().class_code = 0x030200;
    slot().is_drive = false;
    world->conductor_options.reserve_all_types = true;
  }
  void clean_once() {
    world->tenancy_begins();
    look();
    world->tenancy_ends();
    look();
    world->pass(kHourMs);
    ASSERT_EQ(world->record().stage, Stage::available);
    ASSERT_EQ(world->erases, 1U);
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void restart() {
    world->kill_worker();
    world->start_worker();
  }
  void maintenance(const char* order, std::int64_t for_ms) {
    world->command(order, slot().address);
    world->pass(for_ms);
  }
  void allocate() { ASSERT_TRUE(world->placement.allocate(world->provider().row.uuid, "vm")); }
  void deallocate() { world->placement.deallocate(world->provider().row.uuid, "vm"); }
  void reserve_by_hand() {
    world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
    slot().reserved_by_hand = slot().like_a_hand = true;
    slot().ours_taken_out = false;
  }
  // The answer to the next write is lost, and something is written behind it.
  void hide_who_reserved_it() {
    world->faults.put_lost_done = 1;
    world->placement.on_written = [this,
                                   checks = world->placement.on_written](const Provider& written) {
      checks(written);
      if (world->faults.put_lost_done == 0) return;
      world->scheduler.outside(0, [this] {
        world->faults.put_lost_done = 0;
        world->placement.touch(world->provider().row.uuid);
      });
    };
  }
  Slot& slot() { return world->slots.front(); }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }

  std::optional<World> world;
  std::function<void()> late;
  std::int64_t late_reserved = -1;
  bool kills = false;
};

// What takes a device out of the pool is made, and its answer is lost.
TEST_F(LateWrites, WhatTookItOutOfThePoolIsReadBack) {
  begin(false);
  world->faults.put_lost_done = 1;
  maintenance("maintenance_on", kSentMs);
  world->faults.put_lost_done = 0;
  world->pass(10 * kMinuteMs);
  ASSERT_EQ(reserved(), 1);
  maintenance("maintenance_off", 10 * kMinuteMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->erases, 1U);
}

TEST_F(LateWrites, WhatTookItOutOfThePoolIsReadBackByTheNextWorker) {
  begin(false);
  world->placement.on_written = [this,
                                 checks = world->placement.on_written](const Provider& written) {
    checks(written);
    if (kills) world->scheduler.outside(0, [this] { world->kill_worker(); });
  };
  kills = true;
  maintenance("maintenance_on", kSentMs);
  ASSERT_EQ(world->conductor, nullptr);
  kills = false;
  world->start_worker();
  world->pass(10 * kMinuteMs);
  ASSERT_EQ(reserved(), 1);
  maintenance("maintenance_off", 10 * kMinuteMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->erases, 1U);
}

// Somebody else writes before the answer can be read back.
TEST_F(LateWrites, WhatNobodyKnowsWhoReservedStaysAndSaysWhy) {
  begin(false);
  hide_who_reserved_it();
  maintenance("maintenance_on", 10 * kMinuteMs);
  maintenance("maintenance_off", 10 * kMinuteMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("another hand may have reserved it"));
  world->command("clean", slot().address);
  world->pass(kHourMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->record().waiting_for, "");
}

TEST_F(LateWrites, NorDoesAReservationOfABindEndThatNobodyKnowsOf) {
  begin(true, false);
  hide_who_reserved_it();
  allocate();
  look();
  deallocate();
  look();
  EXPECT_EQ(reserved(), 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("another hand may have reserved it"));
  world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  look();
  EXPECT_EQ(world->record().waiting_for, "");
  EXPECT_FALSE(world->disk.entries[slot().address].reserved_at_bind);
}

// What gives a device back is made a worker later, when an operator wants to work at it again.
TEST_F(LateWrites, TheEndOfAFormerMaintenanceDoesNotEndTheNext) {
  begin(false);
  maintenance("maintenance_on", 10 * kMinuteMs);
  world->faults.put_lost_late = 1;
  maintenance("maintenance_off", kSentMs);
  ASSERT_TRUE(late);
  ASSERT_EQ(late_reserved, 0);
  restart();
  world->pass(500);
  maintenance("maintenance_on", 10 * kMinuteMs);
  late();
  EXPECT_EQ(reserved(), 1);
  maintenance("maintenance_off", 10 * kMinuteMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->erases, 1U);
}

// The reservation of a bind is made when its tenancy is over.
TEST_F(LateWrites, TheReservationOfABindDoesNotOutliveIt) {
  begin(true, false);
  world->faults.put_lost_late = 1;
  allocate();
  world->kick({0});
  world->pass(1'500);
  ASSERT_TRUE(late);
  ASSERT_EQ(late_reserved, 1);
  deallocate();
  look();
  late();
  world->pass(kHourMs);
  EXPECT_EQ(reserved(), 0);
}

// The ledger cannot be written: nothing is reserved, and what somebody else reserves is his.
TEST_F(LateWrites, WhatTheLedgerDoesNotKnowIsNotReserved) {
  begin(true, false);
  world->disk.full = true;
  allocate();
  world->kick({0});
  world->pass(1'500);
  EXPECT_EQ(reserved(), 0);
  reserve_by_hand();
  world->disk.full = false;
  deallocate();
  look();
  EXPECT_EQ(reserved(), 1);
}

// The ledger is full between the last look and the hand-over: meanwhile somebody un-reserves the
// device, and another gets it.
TEST_F(LateWrites, WhatIsHandedOverIsReadRightBefore) {
  WorldOptions options;
  options.scripted = options.cyborg = true;
  options.cyborg_api = false;
  world.emplace(options);
  world->conductor_options.cyborg_owner = CyborgOwner::agent;
  world->start_worker();
  world->pass(kMinuteMs);
  world->tenancy_begins();
  look();
  world->tenancy_ends();
  int handed_over = 0;
  world->store.on_saved = [&, checks = world->store.on_saved](const Record& record,
                                                              const JournalEntry& entry) {
    checks(record, entry);
    if (record.stage == Stage::releasing && entry.trigger == "look_ok") world->disk.full = true;
    if (entry.trigger == "handed_over") handed_over += 1;
  };
  look();
  world->pass(10 * kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::releasing);
  world->placement.set_reserved_by(Offered::by_nova, world->provider().row.uuid, 0);
  allocate();
  world->disk.full = false;
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(handed_over, 0);
  EXPECT_EQ(world->record().stage, Stage::allocated);
}

// Somebody un-reserves it between the last look and the release, which is refused for that; what
// reserves it again is still on its way when the release is read back.
TEST_F(LateWrites, WhatIsReadBackAsReleasedIsNotReservedLater) {
  begin(false);
  world->conductor_options.watch_ms = 20'000;
  restart();
  world->pass(kMinuteMs);
  world->tenancy_begins();
  look();
  world->tenancy_ends();
  bool looked = false;
  world->store.on_saved = [&, checks = world->store.on_saved](const Record& record,
                                                              const JournalEntry& entry) {
    checks(record, entry);
    if (record.stage != Stage::looking || looked) return;
    looked = true;
    world->scheduler.outside(0, [this] { world->store.set_away(true); });
  };
  world->kick({0});
  while (!looked) world->pass(10);
  world->pass(1'000);
  ASSERT_EQ(world->record().stage, Stage::looking) << "it cannot be told that it is releasing";
  world->placement.listing_takes_ms = kMinuteMs;
  world->faults.put_lost_late = 1;
  world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  while (!late) world->pass(10);
  world->store.set_away(false);
  world->pass(15'000);
  late();
  world->placement.listing_takes_ms = 0;
  world->pass(kHourMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_FALSE(world->record().held);
  EXPECT_EQ(world->erases, 2U);
}

}  // namespace
}  // namespace reclaim::sim
