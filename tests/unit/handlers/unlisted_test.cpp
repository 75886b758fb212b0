// What no [nvme] device_spec entry matches: it is shown, and neither Placement nor the ledger is
// ever written for it, unless it was ours and is not known to be clean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

// One of Nova's one-time-use devices; a test says what it is before it starts the worker.
struct Unlisted : ::testing::Test {
  Unlisted() : world(options()) {}
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    return options;
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  Slot& slot() { return world.slots.front(); }
  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }
  [[nodiscard]] int written() const { return world.placement.requests().set_reserved; }
  void nobody_lists_it() { slot().ours = false; }
  void is_a_gpu() {
    nobody_lists_it();
    slot().is_drive = false;
    world.drive().class_code = 0x030200;
  }
  void reserve(Offered who, std::int64_t value) {
    world.placement.set_reserved_by(who, world.provider().row.uuid, value);
  }
  void start() {
    world.start_worker();
    world.pass(kMinuteMs);
  }
  void look() {
    world.kick({0});
    world.pass(10 * kMinuteMs);
  }
  void restart() {
    world.kill_worker();
    start();
  }
  // Ours, burned by a tenant, and kept from being cleaned.
  void left_dirty() {
    start();
    world.tenancy_begins();
    look();
    world.drive().guarded = true;
    world.tenancy_ends();
    look();
    ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  }

  World world;
};

struct Other : Unlisted, ::testing::WithParamInterface<bool> {
  void be() { GetParam() ? is_a_gpu() : nobody_lists_it(); }
};

TEST_P(Other, IsShownByItsClassAndNeverWritten) {
  be();
  reserve(Offered::no, 1);
  start();
  EXPECT_EQ(world.record().type, GetParam() ? "GPU" : "SSD");
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("never"));
  // Its operator has cleaned it by a workflow of his own.
  reserve(Offered::by_operator, 0);
  look();
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(written(), 0);
  EXPECT_TRUE(world.disk.entries.empty());
}

TEST_P(Other, IsShownAsItComesAndGoes) {
  be();
  start();
  world.tenancy_begins();
  look();
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(world.record().instance, slot().consumer);
  world.tenancy_ends();
  look();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(written(), 0);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_TRUE(world.disk.entries.empty());
}

TEST_P(Other, TakesNoOrder) {
  be();
  reserve(Offered::no, 1);
  start();
  for (const char* what : {"clean", "enrol", "abort"}) {
    world.command(what, slot().address);
    world.pass(kMinuteMs);
  }
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(written(), 0);
  EXPECT_EQ(world.erases, 0U);
}

INSTANTIATE_TEST_SUITE_P(Kind, Other, ::testing::Bool());

TEST_F(Unlisted, WhatTheHostDoesNotShowIsUnknownUntilItAppears) {
  reserve(Offered::no, 1);
  world.drive().present = false;
  start();
  look();
  EXPECT_EQ(world.store.stored(slot().address), nullptr);
  EXPECT_EQ(written(), 0);
  EXPECT_TRUE(world.disk.entries.empty());
  world.drive().present = true;
  look();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.releases, 1U) << "burned, listed and free: it is cleaned";
}

TEST_F(Unlisted, AnUnmanagedDriveIsMatchedByItsIdsThoughItDoesNotAnswer) {
  slot().managed = false;
  world.drive().home = world.drive().driver = "vfio-pci";
  reserve(Offered::no, 1);
  start();
  look();
  EXPECT_EQ(world.record().type, kTypeNvme);
  EXPECT_EQ(world.releases, 1U);
}

// -------------------------------------------------------------------------------------------------
// Entries come and go.

TEST_F(Unlisted, WhatIsDirtyStaysReservedWhenItsEntryGoes) {
  left_dirty();
  nobody_lists_it();
  world.drive().guarded = false;
  restart();
  look();
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("no [nvme] device_spec entry matches"));
  reserve(Offered::by_operator, 0);
  look();
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.erases, 0U);
  slot().ours = true;
  restart();
  look();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.releases, 1U);
}

TEST_F(Unlisted, WhatOnlyTheLedgerKnowsToBeDirtyStaysReservedToo) {
  left_dirty();
  world.kill_worker();
  world.store.lose_everything();
  nobody_lists_it();
  reserve(Offered::by_nova, 0);
  start();
  look();
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(Unlisted, WhatIsInErrorSaysThatItsEntryIsGone) {
  left_dirty();
  world.command("abort", slot().address);
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  nobody_lists_it();
  restart();
  look();
  EXPECT_THAT(world.record().waiting_for, HasSubstr("no [nvme] device_spec entry matches"));
  EXPECT_EQ(reserved(), 1);
}

TEST_F(Unlisted, WhatIsCleanIsLeftAloneWhenItsEntryGoesAndTakenUpWhenItComesBack) {
  start();
  world.tenancy_begins();
  look();
  world.tenancy_ends();
  world.drive().driver = "nvme";
  look();
  ASSERT_EQ(world.releases, 1U);
  const int before = written();
  nobody_lists_it();
  restart();
  EXPECT_EQ(world.record().type, "SSD");
  world.tenancy_begins();
  look();
  EXPECT_EQ(world.record().stage, Stage::allocated);
  world.tenancy_ends();
  look();
  EXPECT_EQ(written(), before);
  EXPECT_FALSE(world.disk.entries.at(slot().address).dirty);
  slot().ours = true;
  restart();
  look();
  EXPECT_EQ(world.record().type, kTypeNvme);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.releases, 2U) << "a tenant had it meanwhile";
}

// Its driver is bound again meanwhile, and the kernel reads: the hold was recognised before that.
TEST_F(Unlisted, WhatAnOperatorHoldsIsStillHeldWhenItsEntryComesBack) {
  start();
  world.tenancy_begins();
  look();
  world.tenancy_ends();
  world.drive().driver = "nvme";
  look();
  ASSERT_EQ(world.releases, 1U);
  reserve(Offered::no, 1);
  look();
  ASSERT_TRUE(world.record().held);
  nobody_lists_it();
  restart();
  world.drive().host_reads += 3;
  slot().ours = true;
  look();
  EXPECT_TRUE(world.record().cleanable());
  EXPECT_TRUE(world.record().held);
  EXPECT_EQ(world.record().stage, Stage::available);
}

TEST_F(Unlisted, OneThatATenantHasWhenItsEntryComesIsDirtyFromThenOn) {
  nobody_lists_it();
  start();
  world.tenancy_begins();
  look();
  ASSERT_EQ(world.record().stage, Stage::allocated);
  slot().ours = true;
  world.disk.full = true;
  look();
  EXPECT_FALSE(world.record().cleanable()) << "the ledger knows it first";
  world.disk.full = false;
  look();
  EXPECT_EQ(world.record().type, kTypeNvme);
  EXPECT_TRUE(world.disk.entries.at(slot().address).dirty);
  world.tenancy_ends();
  look();
  EXPECT_EQ(world.releases, 1U);
}

TEST_F(Unlisted, ADriveThatWasCleanedOnceIsNoGpuThoughSomethingElseStandsThere) {
  left_dirty();
  world.kill_worker();
  is_a_gpu();
  start();
  look();
  EXPECT_EQ(world.record().type, kTypeNvme);
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
}

}  // namespace
}  // namespace reclaim::sim
