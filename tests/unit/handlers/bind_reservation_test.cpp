// [cyborg] reserve_all_types: "Both behaviors are new additions to the shared bind path and apply
// to all device types, not only NVMe" (the specification, Device Bind). In a scripted world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// A card of another driver of Cyborg's, which the whitelist names and no device_spec.
struct BindReservation : ::testing::Test {
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    options.cyborg = true;
    return options;
  }
  BindReservation() : world(options()) {
    world.drive() = Drive{};
    world.drive().address = slot().address;
    world.drive().class_code = 0x030200;
    slot().is_drive = false;
    world.conductor_options.reserve_all_types = true;
    restart();
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  Slot& slot() { return world.slots.front(); }
  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }
  void restart() {
    world.kill_worker();
    world.start_worker();
    world.pass(kMinuteMs);
  }
  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  void bind() {
    (void)world.placement.allocate(world.provider().row.uuid, "vm");
    look();
  }
  void unbind() {
    world.placement.deallocate(world.provider().row.uuid, "vm");
    look();
  }

  World world;
};

TEST_F(BindReservation, IsReservedWhileItIsBound) {
  bind();
  EXPECT_EQ(reserved(), 1);
  EXPECT_FALSE(world.disk.entries[slot().address].dirty);
  unbind();
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world.record().stage, Stage::available);
  bind();
  EXPECT_EQ(reserved(), 1) << "and so the next time";
}

TEST_F(BindReservation, IsUnreservedThoughTheWorkerWasNotThereAndTheOptionIsGone) {
  bind();
  world.kill_worker();
  world.store.lose_everything();
  world.placement.deallocate(world.provider().row.uuid, "vm");
  world.conductor_options.reserve_all_types = false;
  restart();
  look();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(BindReservation, WhatSomebodyElseReservedStaysSo) {
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  bind();
  unbind();
  EXPECT_EQ(reserved(), 1);
}

TEST_F(BindReservation, WhatIsInMaintenanceStaysReserved) {
  bind();
  world.command("maintenance_on", slot().address);
  look();
  unbind();
  EXPECT_EQ(reserved(), 1);
  world.command("maintenance_off", slot().address);
  look();
  EXPECT_EQ(reserved(), 0);
}

}  // namespace
}  // namespace reclaim::sim
