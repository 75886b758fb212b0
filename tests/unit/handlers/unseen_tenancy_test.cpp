// Tenancies that Placement does not tell of: a guest on a device that is free there, and one of an
// unmanaged drive that nobody saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

struct Unseen : ::testing::Test {
  void make(bool managed) {
    WorldOptions options;
    options.scripted = true;
    options.trace = true;
    world.emplace(options);
    world->slots[0].managed = managed;
    if (!managed) world->drive().home = world->drive().driver = "vfio-pci";
    world->start_worker();
    world->pass(kMinuteMs);
    tenancy();
    world->kick({0});
    world->pass(kHourMs);
    ASSERT_EQ(world->record().stage, Stage::available);
    ASSERT_EQ(world->erases, 1U);
    world->log.text.clear();
  }
  void tenancy() {
    world->tenancy_begins();
    world->kick({0});
    world->pass(world->conductor ? kMinuteMs : 0);
    world->tenancy_ends();
    world->drive().driver = world->drive().home;
  }
  // Without a word to Placement, as after a resize that went wrong.
  void guest_comes() {
    world->drive().guest = 4711;
    world->drive().driver = "vfio-pci";
    write_media(world->drive(), 4711, 1);
  }
  void guest_goes() {
    world->drive().guest = 0;
    world->drive().driver = world->drive().home;
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }
  std::optional<World> world;
};

struct Guest : Unseen, ::testing::WithParamInterface<bool> {};

TEST_P(Guest, OnADeviceThatIsOnOfferTakesItOutOfThePoolUntilItIsGone) {
  make(GetParam());
  guest_comes();
  world->pass(2 * kMinuteMs);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world->log.text, HasSubstr("ERROR reclaim.cyborg 0000:c1:00.0: libvirt domain "
                                         "tenant names it, and Placement shows no allocation"));
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->drive().owner, 4711U);
  guest_goes();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

INSTANTIATE_TEST_SUITE_P(Managed, Guest, ::testing::Bool());

TEST_F(Unseen, AGuestOnADeviceThatIsHeldEndsTheHold) {
  make(true);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->pass(2 * kMinuteMs);
  ASSERT_TRUE(world->record().held);
  guest_comes();
  world->pass(2 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world->log.text, HasSubstr("it stays reserved, and cleaned when the guest is gone"));
  guest_goes();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
}

// The worker was down for the whole life of an instance.
TEST_F(Unseen, ATenancyOfAnUnmanagedDriveIsToldByItsCounters) {
  make(false);
  world->kill_worker();
  tenancy();
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

TEST_F(Unseen, AnUnmanagedDriveThatAnOperatorReservedIsHeld) {
  make(false);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->drive().host_reads += 10;  // the kernel's, whenever the driver is bound
  world->pass(kHourMs);
  EXPECT_TRUE(world->record().held);
  EXPECT_EQ(world->record().waiting_for, "");
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->drive().driver, "vfio-pci");
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

TEST_F(Unseen, WhatAGuardRefusesWaitsAndSaysWhy) {
  make(false);
  world->kill_worker();
  tenancy();
  world->drive().guarded = true;
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("cannot be claimed to read its counters (it "
                                                     "is mounted)"));
  world->drive().guarded = false;
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
}

}  // namespace
}  // namespace reclaim::sim
