// An instance leaves the host by a migration or an evacuation. As Nova does it: what the instance
// had here is allocated to the migration until the move is confirmed, or until the source's
// nova-compute is back; then the allocation goes, and the device is left burned.
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

struct MovedInstance : ::testing::Test {
  MovedInstance() : world(scripted()) {
    world.start_worker();
    world.pass(kMinuteMs);
    world.tenancy_begins();
    world.kick({0});
    world.pass(kMinuteMs);
  }
  static WorldOptions scripted() {
    WorldOptions options;
    options.scripted = true;
    return options;
  }
  void the_migration_takes_the_allocation() {
    Slot& slot = world.slots.front();
    const std::string migration = "3ab0e3b2-0000-4000-8000-00000000feed";
    world.placement.hand_over(world.provider().row.uuid, slot.consumer, migration);
    slot.consumer = migration;
  }
  void the_guest_is_gone() {
    world.drive().guest = 0;
    world.drive().driver = "nvme";
  }
  void expect_untouched() {
    EXPECT_EQ(world.erases, 0U);
    EXPECT_EQ(world.provider().inventory.reserved, 1);
    EXPECT_EQ(world.record().stage, Stage::allocated);
  }
  void expect_cleaned() {
    EXPECT_EQ(world.erases, 1U);
    EXPECT_EQ(world.provider().inventory.reserved, 0);
    EXPECT_EQ(world.record().stage, Stage::available);
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }
  World world;
};

TEST_F(MovedInstance, OfAColdMigrationTheSourceIsCleanedAfterTheConfirmation) {
  the_migration_takes_the_allocation();
  the_guest_is_gone();
  world.kick({0, 5, 30});
  world.pass(kHourMs);
  expect_untouched();
  world.tenancy_ends();
  world.kick({0, 5, 30});
  world.pass(kHourMs);
  expect_cleaned();
}

TEST_F(MovedInstance, OfALiveMigrationTheSourceIsCleanedThoughTheEventComesFirst) {
  the_migration_takes_the_allocation();
  world.pass(kHourMs);
  expect_untouched();
  world.kick({0, 5, 30});
  world.pass(2'000);
  expect_untouched();
  world.tenancy_ends();
  world.pass(kHourMs);
  expect_cleaned();
}

TEST_F(MovedInstance, OfAnEvacuationTheSourceStaysBurnedUntilItsComputeIsBack) {
  world.kill_worker();
  the_guest_is_gone();
  the_migration_takes_the_allocation();
  world.pass(kHourMs);
  world.start_worker();
  world.pass(kHourMs);
  expect_untouched();
  world.tenancy_ends();
  world.pass(kHourMs);
  expect_cleaned();
}

}  // namespace
}  // namespace reclaim::sim
