// What is reserved by somebody's hand, or by Cyborg's own switch, stays so whatever is heard of
// ARQs, and an operator always has a word that helps. In a scripted world, as cyborg_spec_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"
#include "tests/unit/handlers/arq_kick.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kDisplayClass = 0x030200;

struct CyborgHold : ::testing::Test {
  static WorldOptions options(bool cyborg) {
    WorldOptions options;
    options.scripted = true;
    options.cyborg = cyborg;
    return options;
  }
  CyborgHold() : world(options(true)) {}
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  void start() {
    world.start_worker();
    world.pass(kMinuteMs);
  }
  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }
  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  void tenancy_and_release() {
    world.tenancy_begins();
    look();
    world.tenancy_ends();
    look();
    world.pass(kHalfHourMs);
    ASSERT_EQ(world.releases, 1U);
  }
  void reserve_by_hand() {
    world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
    look();
    ASSERT_TRUE(world.record().held);
  }
  void hear(const std::string& event, ArqState state, const std::string& updated_at = "") {
    tell(event, state, updated_at);
    world.pass(kMinuteMs);
  }
  [[nodiscard]] Arq arq_heard(ArqState state) const {
    Arq arq = arq_of(world.slots.front().address, "arq-heard", "an-instance");
    arq.state = state;
    return arq;
  }
  void tell(const std::string& event, ArqState state, const std::string& updated_at = "") {
    Arq arq = arq_heard(state);
    arq.updated_at = updated_at;
    world.conductor->take(arq_kick(event, arq));
  }

  World world;
};

TEST_F(CyborgHold, NoWordOfAnArqUndoesAHoldThatACertificateStandsFor) {
  start();
  tenancy_and_release();
  reserve_by_hand();
  const std::uint64_t erases = world.erases;
  hear("accelerator_request.bind.end", ArqState::bound, "2001-01-01T00:00:00Z");
  hear("accelerator_request.unbind.end", ArqState::unbound, "2001-01-01T00:00:00Z");
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, erases);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_EQ(reserved(), 1);
  EXPECT_TRUE(world.record().held);
}

TEST_F(CyborgHold, NorOneOfADriveThatWasNeverCleaned) {
  start();
  reserve_by_hand();
  hear("accelerator_request.bind.end", ArqState::bound);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("ARQ arq-heard binds it"));
  hear("accelerator_request.unbind.end", ArqState::unbound);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_EQ(reserved(), 1);
  // And who knows that nobody reserved it by hand can say so.
  world.command("clean", world.slots.front().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 1U);
}

TEST_F(CyborgHold, WithoutAnyBooksItIsHeldWithAReasonAndCanBeCleaned) {
  world.provider().inventory.reserved = 1;
  write_media(world.drive(), 7, 7);
  start();
  EXPECT_TRUE(world.record().held);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("never cleaned by this worker"));
  EXPECT_EQ(world.erases, 0U);
  world.command("clean", world.slots.front().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 1U);
}

// Anybody on the bus can say so; Cyborg's API has never heard of it.
TEST_F(CyborgHold, ABindingThatNeitherCyborgNorPlacementEverShowedHoldsNoDriveForEver) {
  start();
  hear("accelerator_request.bind.end", ArqState::bound);
  EXPECT_EQ(reserved(), 1);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
  EXPECT_TRUE(world.store.arqs().empty());
}

TEST_F(CyborgHold, ABindingThatPlacementDoesNotShowSaysHowItIsLetGo) {
  world.cyborg.arq("arq-heard") = arq_heard(ArqState::bind_started);
  start();
  hear("accelerator_request.bind.start", ArqState::bind_started);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(reserved(), 1);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("reclaim device clean"));
  world.command("clean", world.slots.front().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
}

// Begun and over before the survey that its notifications ask for, and the drive's counters stand.
TEST_F(CyborgHold, ATenancyThatOnlyItsArqToldOfIsCleanedAfter) {
  start();
  tell("accelerator_request.bind.end", ArqState::bound);
  tell("accelerator_request.unbind.end", ArqState::unbound);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(CyborgHold, WhereNovaMakesAProviderOfItsOwnOursIsNotOnOfferAnyMore) {
  start();
  world.placement.create("other_0000:c1:00.0", true);
  look();
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("2 providers have this address"));
}

// A role that may read and not write: said with its reason, and not asked for all the time.
TEST_F(CyborgHold, AReservationThatPlacementRefusesIsSaidAndTriedLessAndLess) {
  start();
  world.placement.set_read_only(true);
  world.log.enabled = true;
  const int before = world.placement.requests().set_reserved;
  world.tenancy_begins();
  world.kick({0});
  world.pass(10 * kMinuteMs);
  EXPECT_THAT(world.log.text, HasSubstr("could not be reserved"));
  EXPECT_THAT(world.log.text, HasSubstr("403"));
  EXPECT_LT(world.placement.requests().set_reserved - before, 100);
  const auto tries_of_ten_minutes = [this] {
    const int earlier = world.placement.requests().set_reserved;
    world.pass(10 * kMinuteMs);
    return world.placement.requests().set_reserved - earlier;
  };
  const int alone = tries_of_ten_minutes();
  // What kicks ask for is tried, and begins no series of tries of its own.
  for (int kick = 0; kick < 20; ++kick) {
    world.kick({0});
    world.pass(1'000);
  }
  EXPECT_LT(tries_of_ten_minutes(), alone + 10);
  world.placement.set_read_only(false);
  world.pass(kMinuteMs);
  EXPECT_EQ(reserved(), 1);
}

// What was said of the drive that stood there is not said of the one that stands there now.
TEST_F(CyborgHold, ADriveThatWasPutInATenantsPlaceIsLookedAtBeforeItIsRegistered) {
  const std::string name = "compute-1_" + to_string(world.slots.front().address);
  world.slots.front().provider_name = name;
  world.conductor_options.manage_providers = true;
  ASSERT_TRUE(world.placement.remove(world.provider().row.uuid));
  start();
  world.pass(kHalfHourMs);
  ASSERT_EQ(world.releases, 1U);
  world.tenancy_begins();
  look();
  world.kill_worker();
  world.tenancy_ends();
  ASSERT_TRUE(world.placement.remove(world.placement.find_by_name(name)->row.uuid));
  world.drive().serial = "ANOTHER";
  world.drive().signatures = {"ext4"};
  start();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.placement.find_by_name(name), nullptr);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("ext4"));
}

TEST_F(CyborgHold, WhatTheLedgerSaysOfADriveIsNothingOfTheCardInItsSlot) {
  LedgerEntry entry;
  entry.dirty = entry.error = true;
  entry.serial = "S1";
  entry.dirty_since = WallMs{1};
  world.disk.entries[world.slots.front().address] = entry;
  world.drive().class_code = kDisplayClass;
  world.slots.front().is_drive = false;
  start();
  EXPECT_TRUE(decode_record(encode_record(world.record())).ok());
}

TEST(CyborgHoldNot, ABurnedDeviceOfNovasThatIsNoDriveIsShownWithAReason) {
  World world(CyborgHold::options(false));
  world.drive().class_code = kDisplayClass;
  world.slots.front().is_drive = false;
  world.provider().inventory.reserved = 1;
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.record().type, "GPU");
  EXPECT_THAT(world.record().waiting_for, HasSubstr("no device_spec entry matches it"));
}

TEST_F(CyborgHold, TheUuidThatCyborgHasForItIsOnRecord) {
  const PciAddress address = world.slots.front().address;
  const std::string uuid = "7d3f2b1a-0f7e-4c8e-9a55-2f1d5c0d9f22";
  world.cyborg.device(address).uuid = uuid;
  start();
  EXPECT_EQ(world.record().cyborg_uuid, uuid);
  world.cyborg.set_away(true);
  look();
  EXPECT_EQ(world.record().cyborg_uuid, uuid) << "what was known stays";
  world.cyborg.set_away(false);
  // Where two of Cyborg's devices may be it, it is neither.
  placement::CyborgDevice& second = world.cyborg.device(*parse_pci_address("0000:99:00.0"));
  second = world.cyborg.device(address);
  second.uuid = "8e4a3c2b-0f7e-4c8e-9a55-2f1d5c0d9f22";
  look();
  EXPECT_EQ(world.record().cyborg_uuid, "");
}

}  // namespace
}  // namespace reclaim::sim
