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
  static WorldOptions options(bool cyborg_api) {
    WorldOptions options;
    options.scripted = true;
    options.cyborg = true;
    options.cyborg_api = cyborg_api;
    return options;
  }
  explicit BindReservation(bool cyborg_api = true) : world(options(cyborg_api)) {
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

// Cyborg's API cannot be asked: what is known of ARQs is what is heard.
struct BindReservationUnasked : BindReservation {
  BindReservationUnasked() : BindReservation(false) {}
  void hear(const char* event, ArqState state) {
    slot().arq = "arq-1";
    Arq& arq = world.cyborg.arq(slot().arq);
    arq.uuid = slot().arq;
    arq.state = state;
    arq.hostname = "compute-1";
    arq.address = slot().address;
    world.tell_arq(slot(), event);
    world.pass(kMinuteMs);
  }
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

TEST_F(BindReservation, StaysWhileCyborgDoesNotAnswer) {
  bind();
  world.cyborg.set_away(true);
  unbind();
  EXPECT_EQ(reserved(), 1);
  world.cyborg.set_away(false);
  look();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(BindReservation, StaysWhileTwoProvidersHaveItsAddress) {
  bind();
  const std::string second =
      world.placement.create("node-1.example_0000:C1:00.0", false, true).row.uuid;
  unbind();
  EXPECT_EQ(reserved(), 1);
  EXPECT_TRUE(world.placement.remove(second));
  look();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(BindReservationUnasked, StaysWhileAnArqIsSaidToBindIt) {
  bind();
  world.placement.deallocate(world.provider().row.uuid, "vm");
  hear("accelerator_request.bind.end", ArqState::bound);
  EXPECT_EQ(reserved(), 1);
  hear("accelerator_request.unbind.end", ArqState::unbound);
  EXPECT_EQ(reserved(), 0);
}

}  // namespace
}  // namespace reclaim::sim
