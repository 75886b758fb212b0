// Maintenance takes a free device out of the pool, and gives it back when it ends, if the
// certificate of its last erasure stands. In a scripted world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"
#include "tests/unit/handlers/arq_kick.h"

namespace reclaim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kGivenBackMs = 1'000;

struct MaintenanceReservation : ::testing::Test {
  void begin(bool cyborg = false, bool certified = true) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    if (seed != 0) options.seed = seed;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
    if (certified) {
      world->tenancy_begins();
      look();
      world->tenancy_ends();
      look();
      world->pass(30 * kMinuteMs);
      ASSERT_FALSE(world->record().certificate_id.empty());
    }
    ASSERT_EQ(world->record().stage, Stage::available);
    ASSERT_EQ(reserved(), 0);
    releases = world->releases;
    erases = world->erases;
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void maintenance(const std::string& on_off) {
    world->command("maintenance_" + on_off, address());
    world->pass(kMinuteMs);
  }
  void write_to_drive() {
    world->drive().owner = 7;
    world->drive().host_writes += 1;
  }
  void write_while_it_ends_slowly(std::int64_t& placement_takes_ms) {
    maintenance("on");
    placement_takes_ms = 20'000;
    world->command("maintenance_off", address());
    world->pass(10'000);
    write_to_drive();
    placement_takes_ms = 0;
  }
  [[nodiscard]] PciAddress address() const { return world->slots.front().address; }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  [[nodiscard]] bool is_marked() { return world->disk.entries[address()].taken_out; }

  std::uint64_t seed = 0;  // 0: the scripted worlds' own
  std::optional<World> world;
  std::uint64_t releases = 0;
  std::uint64_t erases = 0;
};

// Found by the simulation: no survey came between.
TEST_F(MaintenanceReservation, AHandAfterTheCleaningThatEndedItIsTheOperators) {
  begin(true, false);
  maintenance("on");
  ASSERT_TRUE(is_marked());
  world->command("maintenance_off", address());
  const auto is_given_back = [this] {
    return world->releases > releases && world->record().stage == Stage::available;
  };
  for (int ms = 0; ms < kHourMs && !is_given_back(); ++ms) world->pass(1);
  ASSERT_TRUE(is_given_back()) << "it had no certificate, and was cleaned";
  while (world->disk.entries[address()].dirty) world->pass(1);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->slots[0].reserved_by_hand = world->slots[0].held = true;
  look();
  EXPECT_EQ(reserved(), 1);
}

TEST_F(MaintenanceReservation, AFreeDriveIsReservedAtOnceAndGivenBackWithoutACleaning) {
  for (const bool cyborg : {false, true}) {
    begin(cyborg);
    maintenance("on");
    EXPECT_EQ(reserved(), 1);
    EXPECT_TRUE(world->record().held);
    EXPECT_EQ(world->record().waiting_for, "");
    world->pass(30 * kMinuteMs);
    EXPECT_EQ(world->record().stage, Stage::available);
    maintenance("off");
    EXPECT_EQ(reserved(), 0);
    EXPECT_FALSE(world->record().held);
    EXPECT_FALSE(is_marked());
    EXPECT_EQ(world->erases, erases);
    EXPECT_EQ(world->record().stage, Stage::available);
    EXPECT_EQ(world->failure.value_or(""), "");
  }
}

// Nobody is told to un-reserve by hand what the worker gives back.
TEST_F(MaintenanceReservation, UntilTheNextLookItIsSaidToHaveEnded) {
  begin();
  maintenance("on");
  world->command("maintenance_off", address());
  while (world->record().maintenance) world->pass(1);
  EXPECT_EQ(world->record().waiting_for, kMaintenanceOver);
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().waiting_for, "");
  EXPECT_EQ(reserved(), 0);
}

TEST_F(MaintenanceReservation, WhatWasWrittenMeanwhileIsCleanedFirst) {
  begin();
  maintenance("on");
  write_to_drive();
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->erases, erases) << "nothing is done to it in maintenance";
  maintenance("off");
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->erases, erases + 1);
}

TEST_F(MaintenanceReservation, ADriveWithoutACertificateIsCleanedFirst) {
  for (const bool cyborg : {false, true}) {
    begin(cyborg, false);
    maintenance("on");
    EXPECT_EQ(reserved(), 1);
    maintenance("off");
    world->pass(30 * kMinuteMs);
    EXPECT_EQ(reserved(), 0);
    EXPECT_EQ(world->erases, erases + 1);
    EXPECT_EQ(world->failure.value_or(""), "");
  }
}

TEST_F(MaintenanceReservation, SurvivesTheWorkerAndItsRecords) {
  begin();
  maintenance("on");
  world->kill_worker();
  world->store.lose_everything();
  world->start_worker();
  world->pass(5 * kMinuteMs);
  EXPECT_TRUE(world->record().maintenance);
  EXPECT_EQ(reserved(), 1);
  maintenance("off");
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(MaintenanceReservation, WhatAnOperatorReservedBeforeStaysReserved) {
  begin();
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  look();
  ASSERT_TRUE(world->record().held);
  maintenance("on");
  maintenance("off");
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->erases, erases);
}

TEST_F(MaintenanceReservation, WhatAnInstanceHasIsLeftToItAndIsCleanedWhenBothAreOver) {
  begin();
  world->tenancy_begins();
  look();
  maintenance("on");
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_FALSE(is_marked());
  world->tenancy_ends();
  look();
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("in maintenance"));
  maintenance("off");
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->erases, erases + 1);
}

TEST_F(MaintenanceReservation, SomebodyWhoUnReservesItIsOverruled) {
  begin();
  maintenance("on");
  world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  look();
  EXPECT_EQ(reserved(), 1);
  maintenance("off");
  EXPECT_EQ(reserved(), 0);
}

TEST_F(MaintenanceReservation, IsNotGivenBackWhileCyborgHasItMaintaining) {
  begin(true);
  maintenance("on");
  world->cyborg.device(address()).status = "maintaining";
  maintenance("off");
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(reserved(), 1);
}

// The ledger knows of no write of ours.
TEST_F(MaintenanceReservation, AReservationThatMayBeAnOperatorsStands) {
  begin();
  world->kill_worker();
  world->disk.entries[address()].maintenance = true;
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->start_worker();
  world->pass(5 * kMinuteMs);
  EXPECT_TRUE(world->record().maintenance);
  maintenance("off");
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_TRUE(world->record().held);
}

// Who had it meanwhile is known to have had it, though the drive tells of nobody.
TEST_F(MaintenanceReservation, WhatAnArqBoundMeanwhileIsCleanedFirst) {
  begin(true);
  maintenance("on");
  for (const ArqState state : {ArqState::bound, ArqState::unbound}) {
    Arq arq = arq_of(address(), "arq-heard", "");
    arq.state = state;
    world->conductor->take(arq_kick(state == ArqState::bound ? "accelerator_request.bind.end"
                                                             : "accelerator_request.unbind.end",
                                    arq));
    world->pass(kMinuteMs);
  }
  EXPECT_EQ(world->record().stage, Stage::available);
  std::vector<std::uint64_t> erases_when_offered;
  world->placement.on_release_asked =
      [&, checks = world->placement.on_release_asked](const placement::ProviderView& view) {
        checks(view);
        erases_when_offered.push_back(world->erases);
      };
  maintenance("off");
  world->pass(30 * kMinuteMs);
  EXPECT_THAT(erases_when_offered, ElementsAre(erases + 1));
  EXPECT_EQ(reserved(), 0);
}

// The write that gives it back is made while the drive, written to meanwhile, is being erased.
TEST_F(MaintenanceReservation, AWriteThatComesLateDoesNotOfferWhatIsBeingCleaned) {
  begin();
  maintenance("on");
  std::function<void()> give_back;
  world->placement.keep_late = [&](const placement::ProviderView&, std::int64_t,
                                   std::function<void()> make) { give_back = std::move(make); };
  world->faults.put_lost_late = 1;
  maintenance("off");
  world->faults.put_lost_late = 0;
  ASSERT_TRUE(give_back);
  write_to_drive();
  world->drive().sanitize_ms = kHourMs;
  look();
  look();
  ASSERT_EQ(world->record().stage, Stage::erasing);
  give_back();
  EXPECT_EQ(reserved(), 1);
}

// What its drive said is old when Placement answers at last.
TEST_F(MaintenanceReservation, WhatWasWrittenWhilePlacementWasSlowIsCleanedFirst) {
  begin();
  write_while_it_ends_slowly(world->placement.listing_takes_ms);
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(world->erases, erases + 1);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(MaintenanceReservation, WhatWasWrittenWhileItsProviderWasReadIsCleanedFirst) {
  begin();
  write_while_it_ends_slowly(world->placement.reads_take_ms);
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(world->erases, erases + 1);
  EXPECT_EQ(reserved(), 0);
}

// The look at the drives is slow, and Placement is a little slower.
TEST_F(MaintenanceReservation, WhatWasWrittenDuringASlowLookIsCleanedFirst) {
  begin();
  maintenance("on");
  world->hardware.looks_take_ms = 5'000;
  world->placement.listing_takes_ms = 6'000;
  world->command("maintenance_off", address());
  world->pass(3'000);
  write_to_drive();
  world->hardware.looks_take_ms = world->placement.listing_takes_ms = 0;
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(world->erases, erases + 1);
  EXPECT_EQ(reserved(), 0);
}

// The write that gives it back is made, and its answer is lost or makes no sense; then an operator
// reserves the device. Which of the two, the world's seed says.
TEST_F(MaintenanceReservation, WhatIsReservedAfterItWasGivenBackStands) {
  for (seed = 1; seed <= 12; ++seed) {
    begin();
    maintenance("on");
    world->faults.put_lost_done = 1;
    world->command("maintenance_off", address());
    world->pass(kGivenBackMs);
    world->faults.put_lost_done = 0;
    ASSERT_EQ(reserved(), 0);
    world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
    world->slots.front().reserved_by_hand = true;
    world->slots.front().ours_taken_out = false;
    world->pass(5 * kMinuteMs);
    EXPECT_EQ(reserved(), 1) << "seed " << seed;
    ASSERT_EQ(world->failure.value_or(""), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace reclaim::sim
