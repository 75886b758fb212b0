// What is left to Cyborg's agent: to un-reserve what was cleaned ([cyborg] owner = agent), and what
// was registered for it ([agent_door]); and what it is told of each drive. In a scripted world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kWhileMs = 1'000;

struct HandedOver : ::testing::Test {
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    options.cyborg = true;
    return options;
  }
  HandedOver() : world(options()) {}
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  void start_with_agent() {
    world.conductor_options.cyborg_owner = CyborgOwner::agent;
    world.start_worker();
    world.pass(kMinuteMs);
  }
  // A drive that Placement does not know, and a worker with an agent's door.
  void start_with_door() {
    slot().unregistered = true;
    slot().provider_name = "compute-1_" + to_string(slot().address);
    (void)world.placement.remove(world.provider().row.uuid);
    world.conductor_options.agent_door = true;
    world.start_worker();
    world.pass(kHalfHourMs);
  }
  Slot& slot() { return world.slots.front(); }
  Provider* registered() { return world.placement.find_by_name(slot().provider_name); }
  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }
  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  void tenancy() {
    world.tenancy_begins();
    look();
    world.tenancy_ends();
    look();
    world.pass(kHalfHourMs);
  }
  void cyborg_unreserves(Provider& provider) {
    world.placement.set_reserved_by(Offered::by_nova, provider.row.uuid, 0);
    look();
  }
  Kick cleanup() {
    Kick kick;
    kick.reason = "cyborg-agent's door: cleanup";
    kick.command = "cleanup_device";
    kick.address = to_string(slot().address);
    kick.delays_s = {0};
    kick.sent_at = world.scheduler.now().wall;
    return kick;
  }
  void hear(const Kick& kick) {
    world.conductor->take(kick);
    world.pass(kMinuteMs);
  }
  void cleanup_is_asked() { hear(cleanup()); }
  [[nodiscard]] ReportedDrive told() const {
    const auto drives = world.conductor->drives_for_agent();
    EXPECT_EQ(drives.size(), 1U);
    return drives.empty() ? ReportedDrive{} : drives.front();
  }

  World world;
};

TEST_F(HandedOver, WhatTheAgentOwnsIsCleanedCertifiedAndLeftReserved) {
  start_with_agent();
  tenancy();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_TRUE(world.record().handed_over);
  EXPECT_FALSE(world.record().held);
  EXPECT_EQ(world.record().waiting_for, kHandedOver);
  EXPECT_NE(world.record().certificate_id, "");
  EXPECT_EQ(world.erases, 1U);
  EXPECT_EQ(world.releases, 0U) << "no PUT of reserved = 0";
  EXPECT_EQ(reserved(), 1);
  EXPECT_TRUE(told().clean);
  EXPECT_TRUE(told().handed_over);
  EXPECT_FALSE(told().offered);

  cyborg_unreserves(world.provider());
  EXPECT_FALSE(world.record().handed_over);
  EXPECT_EQ(world.record().waiting_for, "");
  EXPECT_EQ(reserved(), 0);
  EXPECT_TRUE(told().clean);
  EXPECT_TRUE(told().offered);
  EXPECT_EQ(world.erases, 1U);
}

// The last survey saw it reserved; the agent has un-reserved it since.
TEST_F(HandedOver, IsEnrolledOnOfferAndNotOpenedBeforeItIsReserved) {
  start_with_agent();
  tenancy();
  world.placement.touch(world.provider().row.uuid);
  look();
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  world.faults.put_lost_not = 1;
  bool opened = false;
  world.drives->on_claim = [&opened](const PciAddress&) { opened = true; };
  world.command("enrol", slot().address);
  world.pass(kWhileMs);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  ASSERT_EQ(reserved(), 0);
  EXPECT_FALSE(opened);
  world.faults.put_lost_not = 0;
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 2U);
}

TEST_F(HandedOver, ItSurvivesARestart) {
  start_with_agent();
  tenancy();
  world.kill_worker();
  start_with_agent();
  EXPECT_TRUE(world.record().handed_over);
  EXPECT_EQ(world.record().waiting_for, kHandedOver);
  EXPECT_EQ(world.erases, 1U);
}

TEST_F(HandedOver, AndThatRedisLosesItsRecord) {
  start_with_agent();
  tenancy();
  world.kill_worker();
  world.store.lose_everything();
  start_with_agent();
  EXPECT_TRUE(told().handed_over);
  EXPECT_TRUE(told().clean);
  EXPECT_EQ(world.record().waiting_for, kHandedOver);
  EXPECT_EQ(world.erases, 1U);
}

// Redis has lost that the agent un-reserved it; an operator's hand reserved it since.
TEST_F(HandedOver, NotASecondTimeWhereItIsReservedByHandSince) {
  start_with_agent();
  tenancy();
  world.kill_worker();
  const std::string uuid = world.provider().row.uuid;
  world.placement.set_reserved_by(Offered::by_cyborg, uuid, 0);
  world.placement.set_reserved_by(Offered::no, uuid, 1);
  start_with_agent();
  EXPECT_TRUE(world.record().held);
  EXPECT_FALSE(told().clean);
  world.kill_worker();
  start_with_agent();
  EXPECT_FALSE(told().clean);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("somebody may have reserved it again"));
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.erases, 1U);
}

TEST_F(HandedOver, ATenantWhoComesEndsIt) {
  start_with_agent();
  tenancy();
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  world.tenancy_begins();
  look();
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_FALSE(world.record().handed_over);
}

// Redis is away when it is handed over, and a tenant comes and goes meanwhile: what was read before
// him does not make it clean.
TEST_F(HandedOver, WhatRedisTakesLateIsReadAgain) {
  start_with_agent();
  world.tenancy_begins();
  look();
  world.tenancy_ends();
  world.kick({0});
  for (int i = 0; i < 100'000 && world.record().stage != Stage::releasing; ++i) world.pass(1);
  ASSERT_EQ(world.record().stage, Stage::releasing);
  world.store.set_away(true);
  world.pass(kMinuteMs);
  world.placement.set_reserved_by(Offered::by_cyborg, world.provider().row.uuid, 0);
  world.tenancy_begins();
  look();
  world.tenancy_ends();
  world.store.set_away(false);
  for (int i = 0; i < 10'000 && world.erases < 2; ++i) {
    world.pass(100);
    ASSERT_FALSE(told().clean && world.erases < 2);
  }
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 2U);
  EXPECT_TRUE(told().clean);
}

// Redis takes no record of him, so that the last one is of before he came.
TEST_F(HandedOver, ATenantWhomNoRecordTellsOfIsNotToldAsClean) {
  start_with_agent();
  tenancy();
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  look();
  ASSERT_TRUE(told().clean);
  world.store.set_away(true);
  world.tenancy_begins();
  look();
  world.tenancy_ends();
  for (int i = 0; i < 60; ++i) {
    world.pass(1'000);
    ASSERT_FALSE(told().clean) << i;
  }
  world.store.set_away(false);
  world.pass(kHalfHourMs);
  EXPECT_TRUE(told().clean);
  EXPECT_EQ(world.erases, 2U);
}

TEST_F(HandedOver, OneThatWasWrittenToMeanwhileIsCleanedAgain) {
  start_with_agent();
  tenancy();
  write_media(world.drive(), 9, 9);
  look();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 2U);
  EXPECT_EQ(reserved(), 1);
}

// Cyborg reserves at the bind, so that a short tenancy looks as if nobody had been there.
TEST_F(HandedOver, WhatTheAgentAsksToCleanIsCleanedThoughNobodySawATenant) {
  start_with_agent();
  tenancy();
  world.pass(1'000);
  Kick life;
  life.reason = "instance.create.error";
  life.instance = "3ab0e3b2-0000-4000-8000-000000000001";
  life.life = Life::fails;
  life.host = "compute-1";
  world.conductor->take(life);
  cleanup_is_asked();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 2U);
  EXPECT_TRUE(world.record().handed_over);
  EXPECT_EQ(reserved(), 1);
  const auto told =
      decode_certificate(world.disk.certificates.at(world.record().certificate_id)).value();
  EXPECT_EQ(told.instance_source, "not_seen");
  EXPECT_EQ(told.heard, std::vector<std::string>{life.instance});
}

TEST_F(HandedOver, ButNotWhatIsOnOfferAndNotWhereTheWorkerUnreserves) {
  start_with_agent();
  tenancy();
  cyborg_unreserves(world.provider());
  cleanup_is_asked();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 1U);

  world.kill_worker();
  world.conductor_options.cyborg_owner = CyborgOwner::worker;
  world.start_worker();
  world.pass(kMinuteMs);
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  look();
  ASSERT_TRUE(world.record().held);
  EXPECT_FALSE(told().clean);
  cleanup_is_asked();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 1U);
  EXPECT_TRUE(world.record().held);
}

TEST_F(HandedOver, MaintenanceStandsWhateverTheAgentAsks) {
  start_with_agent();
  tenancy();
  cyborg_unreserves(world.provider());
  world.command("maintenance_on", slot().address);
  look();
  ASSERT_TRUE(world.record().maintenance);
  ASSERT_EQ(reserved(), 1);
  cleanup_is_asked();
  world.command("maintenance_off", slot().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 1U);
  EXPECT_FALSE(world.record().handed_over);
  EXPECT_EQ(reserved(), 0);
}

// Another host's login reads what the worker wrote for the agent, and adds it again.
TEST_F(HandedOver, ACopyOfWhatWasAskedOrdersNothing) {
  start_with_agent();
  tenancy();
  cyborg_unreserves(world.provider());
  const Kick first = cleanup();
  hear(first);
  const Kick second = cleanup();
  hear(second);
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  look();
  ASSERT_TRUE(world.record().held);
  for (const Kick& copy : {first, second}) hear(copy);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 1U);
  EXPECT_TRUE(world.record().held);
  cleanup_is_asked();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 2U) << "the agent itself is heard";
}

TEST_F(HandedOver, AnUnknownDriveIsRegisteredReservedCleanedAndLeftToCyborg) {
  start_with_door();
  ASSERT_NE(registered(), nullptr);
  EXPECT_EQ(registered()->inventory.reserved, 1);
  EXPECT_EQ(world.releases, 0U);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_TRUE(told().clean);
  EXPECT_TRUE(told().handed_over);
  EXPECT_GT(told().cleaned_at.ms, 0);
  EXPECT_THAT(told().resource_class, StartsWith("CUSTOM_"));
  EXPECT_NE(told().action, "");
  ASSERT_TRUE(told().traits.has_value());

  cyborg_unreserves(*registered());
  EXPECT_FALSE(told().handed_over);
  // From then on it is ours to un-reserve: this Cyborg never does it again.
  tenancy();
  EXPECT_EQ(world.releases, 1U);
  EXPECT_EQ(registered()->inventory.reserved, 0);
}

TEST_F(HandedOver, OneWhoseProviderIsGoneIsKnownToCyborgAndUnreservedByUs) {
  start_with_door();
  ASSERT_NE(registered(), nullptr);
  cyborg_unreserves(*registered());
  ASSERT_TRUE(world.placement.remove(registered()->row.uuid));
  look();
  world.pass(kHalfHourMs);
  ASSERT_NE(registered(), nullptr);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_EQ(registered()->inventory.reserved, 0);
}

// Cyborg has not un-reserved it yet: it cannot be bound before Cyborg does.
TEST_F(HandedOver, OneStillHandedOverWhoseProviderIsGoneStaysSo) {
  start_with_door();
  ASSERT_TRUE(world.record().handed_over);
  ASSERT_TRUE(world.placement.remove(registered()->row.uuid));
  look();
  world.pass(kHalfHourMs);
  ASSERT_NE(registered(), nullptr);
  EXPECT_TRUE(world.record().handed_over);
  EXPECT_EQ(world.releases, 0U);
  EXPECT_EQ(registered()->inventory.reserved, 1);
}

TEST_F(HandedOver, ADriveThatCannotBeReadIsRegisteredWhenAnOperatorNamesIt) {
  slot().managed = false;
  world.drive().driver = "vfio-pci";
  start_with_door();
  EXPECT_EQ(registered(), nullptr);
  EXPECT_THAT(told().status, HasSubstr("--enrol --serial SERIAL"));
  EXPECT_FALSE(told().clean);
}

TEST_F(HandedOver, WhatIsToldIsOfTheLastLookAndNothingUnsettledIsClean) {
  start_with_agent();
  const WallMs first = told().looked_at;
  EXPECT_GT(first.ms, 0);
  EXPECT_FALSE(told().clean) << "never cleaned by this worker";
  world.tenancy_begins();
  look();
  EXPECT_GT(told().looked_at.ms, first.ms);
  EXPECT_EQ(told().state, DeviceState::allocated);
  EXPECT_FALSE(told().clean);
  EXPECT_THAT(std::vector<std::string>{told().vendor_id}, ElementsAre(world.record().vendor_id));
}

// The agent compares it with the time at which it unbound the drive.
TEST_F(HandedOver, ALookIsNotLaterThanItWasThoughTheClockIsSet) {
  start_with_agent();
  look();
  const WallMs first = told().looked_at;
  world.scheduler.shift_wall_clock(-kHalfHourMs);
  const WallMs unbound_at = world.scheduler.now().wall;
  EXPECT_LE(told().looked_at.ms, unbound_at.ms) << "the clock is set back";
  world.scheduler.shift_wall_clock(3 * kHalfHourMs);
  EXPECT_LE(told().looked_at.ms, first.ms) << "the clock is set ahead";
}

}  // namespace
}  // namespace reclaim::sim
