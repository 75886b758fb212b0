// The Cyborg flow, rule by rule of the specification (Device State Machine, Device Bind, Timeout
// and Crash Recovery), told step by step in a scripted world. Named after the rules they hold;
// docs/dev/spec-coverage.md lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"
#include "tests/unit/handlers/arq_kick.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

// A host whose only drive is Cyborg's, in the pool and never used. Cyborg is today's: it does not
// reserve what it binds.
struct CyborgSpec : ::testing::Test {
  CyborgSpec() : world(options()) {
    world.start_worker();
    world.pass(kMinuteMs);
  }
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    options.cyborg = true;
    options.trace = true;
    return options;
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }
  Slot& slot() { return world.slots.front(); }
  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  void use_it() {
    world.tenancy_begins();
    look();
  }
  void restart() {
    world.kill_worker();
    world.start_worker();
    world.pass(1'000);
  }
  // Killed in the middle of a cleaning.
  void die_once_at(Stage stage) {
    world.store.on_saved = [this, stage](const Record& record, const JournalEntry&) {
      if (record.stage != stage || dead_) return;
      dead_ = true;
      world.scheduler.outside(0, [this] { world.kill_worker(); });
    };
    world.tenancy_ends();
    look();
    ASSERT_EQ(world.conductor, nullptr);
    world.store.on_saved = nullptr;
  }
  // And found there by the next one.
  void die_at(Stage stage) {
    ASSERT_NO_FATAL_FAILURE(die_once_at(stage));
    world.start_worker();
    world.pass(kMinuteMs);
  }

  World world;
  bool dead_ = false;
};

// "A device starts in available state with reserved=0".
TEST_F(CyborgSpec, ADeviceStartsAvailableWithNothingReserved) {
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.record().flow, Flow::cyborg);
  EXPECT_EQ(world.record().type, "NVME");
  EXPECT_NE(world.record().created_at.ms, 0);
  EXPECT_EQ(reserved(), 0);
}

// "When bound to an instance, reserved is set to total and the device moves to allocated".
TEST_F(CyborgSpec, BoundIsAllocatedAndReserved) {
  use_it();
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(CyborgSpec, AnArqThatBindsItCountsAsMuchAsAnAllocation) {
  slot().arq = "arq-1";
  Arq& arq = world.cyborg.arq("arq-1");
  arq.uuid = "arq-1";
  arq.state = ArqState::bound;
  arq.hostname = "compute-1";
  arq.address = slot().address;
  arq.managed = false;
  world.tell_arq(slot(), "accelerator_request.bind.end");
  world.pass(kMinuteMs);
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(world.record().arq, "arq-1");
  EXPECT_FALSE(world.record().managed);
  EXPECT_EQ(reserved(), 1);
  // And it blocks a cleaning for as long as nobody says that it is over, unless an operator does.
  world.cyborg.remove("arq-1");
  world.pass(2'000);
  EXPECT_EQ(world.erases, 0U);
  world.command("clean", slot().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.releases, 1U);
}

// "The bind path checks that device_state is available": we hear of it after the fact.
TEST_F(CyborgSpec, BindOfADeviceThatIsNotAvailableIsHealedAndReported) {
  use_it();
  world.command("maintenance_on", slot().address);
  world.pass(1'000);
  world.tenancy_ends();
  look();
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  use_it();
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(reserved(), 1);
  EXPECT_THAT(world.record().last_error, HasSubstr("although it is pending_cleaning"));
}

TEST_F(CyborgSpec, BindOfADeviceInErrorIsHealedAndReported) {
  use_it();
  world.drive().steps_end_with = Errc::failed;
  world.tenancy_ends();
  look();
  ASSERT_EQ(world.record().stage, Stage::error);
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  use_it();
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(reserved(), 1);
  EXPECT_THAT(world.record().last_error, HasSubstr("although it is in error"));
}

// "Unbind": allocated -> pending_cleaning -> cleaning -> available, reserved = 0 only there.
TEST_F(CyborgSpec, UnbindLeadsThroughCleaningBackToAvailable) {
  use_it();
  std::vector<DeviceState> seen;
  world.store.on_saved = [&](const Record& record, const JournalEntry&) {
    const DeviceState state = device_state(record.stage);
    if (seen.empty() || seen.back() != state) seen.push_back(state);
    if (state != DeviceState::available) {
      EXPECT_EQ(reserved(), 1) << to_string(state);
    }
  };
  world.tenancy_ends();
  look();
  EXPECT_THAT(seen, ::testing::ElementsAre(DeviceState::pending_cleaning, DeviceState::cleaning,
                                           DeviceState::available));
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world.drive().owner, 0U);
}

// "On failure or timeout the device moves to error with reserved=total".
class Failing : public CyborgSpec, public ::testing::WithParamInterface<Kind> {};

TEST_P(Failing, LeavesItInErrorAndReserved) {
  use_it();
  world.drive().kind = GetParam();
  world.tenancy_ends();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(reserved(), 1);
}

INSTANTIATE_TEST_SUITE_P(Sanitize, Failing, ::testing::Values(Kind::fails, Kind::stalls));

// "An operator can re-trigger cleanup from error", and the RPC that the call dispatches does.
class Retried : public CyborgSpec, public ::testing::WithParamInterface<const char*> {};

TEST_P(Retried, FromErrorByAnOperatorsWord) {
  use_it();
  world.drive().steps_end_with = Errc::failed;
  world.tenancy_ends();
  look();
  ASSERT_EQ(world.record().stage, Stage::error);
  world.drive().steps_end_with.reset();
  world.command(GetParam(), slot().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
}

INSTANTIATE_TEST_SUITE_P(Clean, Retried, ::testing::Values("clean", "cleanup_device"));

TEST_F(CyborgSpec, ACleanupCastForADeviceInUseIsAKickAndNothingElse) {
  use_it();
  world.command("cleanup_device", slot().address);
  world.pass(kMinuteMs);
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(world.erases, 0U);
}

// "A device in allocated with no active ARQ indicates a cleanup RPC was missed".
TEST_F(CyborgSpec, AllocatedWithNobodyHoldingItIsCleanedAtStart) {
  use_it();
  world.kill_worker();
  world.tenancy_ends();
  world.pass(kHalfHourMs);
  ASSERT_EQ(world.record().stage, Stage::allocated);
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.releases, 1U);
}

// "A device found in pending_cleaning or cleaning [...] moves it to error".
class Found : public CyborgSpec, public ::testing::WithParamInterface<Stage> {};

TEST_P(Found, AtWorkAtAStartIsAnError) {
  use_it();
  die_at(GetParam());
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.releases, 0U);
}

INSTANTIATE_TEST_SUITE_P(In, Found,
                         ::testing::Values(Stage::pending_cleaning, Stage::guarding,
                                           Stage::rechecking, Stage::preparing, Stage::baselining,
                                           Stage::erasing, Stage::verifying, Stage::restoring,
                                           Stage::looking));

TEST_F(CyborgSpec, MerelyWaitingAtAStartIsAnErrorToo) {
  use_it();
  world.command("maintenance_on", slot().address);
  world.pass(1'000);
  world.tenancy_ends();
  look();
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  restart();
  EXPECT_EQ(world.record().stage, Stage::error);
}

// A PUT that was on its way is read back first; if it was not made, the same holds.
TEST_F(CyborgSpec, AnInterruptedReleaseIsReadBackAndThenAnError) {
  use_it();
  die_at(Stage::releasing);
  world.pass(kHalfHourMs);
  if (reserved() == 0) {
    EXPECT_EQ(world.record().stage, Stage::available);
  } else {
    EXPECT_EQ(world.record().stage, Stage::error);
    EXPECT_EQ(world.releases, 0U);
  }
}

// "For non-NVMe devices, the conductor sets device_state to available directly".
TEST_F(CyborgSpec, WhatIsNoNvmeGoesStraightToAvailableAndIsNeverWritten) {
  world.kill_worker();
  world.store.lose_everything();
  world.drive() = Drive{};
  world.drive().address = slot().address;
  world.drive().class_code = 0x030200;
  slot().is_drive = false;
  world.start_worker();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().type, "GPU");
  (void)world.placement.allocate(world.provider().row.uuid, "vm");
  look();
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(reserved(), 0) << "that is the business of Cyborg's conductor";
  world.command("clean", slot().address);
  world.placement.deallocate(world.provider().row.uuid, "vm");
  look();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
  EXPECT_FALSE(world.disk.entries[slot().address].dirty);
}

// "reserved=total is always consistent with device_state not being available".
TEST_F(CyborgSpec, AnInventoryThatCyborgsAgentWroteAnewIsReservedAgain) {
  use_it();
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  world.log.text.clear();
  look();
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_THAT(world.log.text, HasSubstr("WARNING reclaim.conductor 0000:c1:00.0 is not clean, or "
                                        "taken, but is not reserved: reserving it"));
}

// Design "held": reserved without a tenancy that was recorded.
TEST_F(CyborgSpec, ReservedWithoutARecordedTenancyIsHeldThoughNothingCertifiesIt) {
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  look();
  EXPECT_TRUE(world.record().held);
  EXPECT_EQ(world.record().stage, Stage::available);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(CyborgSpec, WrittenToAndReservedWithoutATenancyIsCleaned) {
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  write_media(world.drive(), 77, 77);
  look();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.drive().owner, 0U);
  EXPECT_EQ(world.releases, 1U);
}

TEST_F(CyborgSpec, ATenancyThatNobodySawIsToldByTheDrive) {
  write_media(world.drive(), 77, 77);
  look();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.drive().owner, 0U);
  EXPECT_EQ(world.releases, 1U);
}

TEST_F(CyborgSpec, WhatCyborgHasUnderMaintenanceIsNeverUnreserved) {
  use_it();
  world.cyborg.device(slot().address).status = "maintaining";
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world.record().cyborg_status, "maintaining");
  EXPECT_THAT(world.record().waiting_for, HasSubstr("maintaining"));
  EXPECT_EQ(reserved(), 1);
  world.cyborg.device(slot().address).status = "enabled";
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

TEST_F(CyborgSpec, MaintenanceThatBeganDuringTheCleaningIsSeenAtTheLastLook) {
  use_it();
  world.store.on_saved = [this](const Record& record, const JournalEntry&) {
    if (record.stage == Stage::verifying) {
      world.cyborg.device(slot().address).status = "maintaining";
    }
  };
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 0U);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(CyborgSpec, WhereCyborgDoesNotAnswerNothingIsBegun) {
  use_it();
  world.cyborg.set_away(true);
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("does not answer"));
  world.cyborg.set_away(false);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 1U);
}

// "If no device_spec matches": not ours, and not written.
TEST_F(CyborgSpec, WhatNoDeviceSpecMatchesIsNotOurs) {
  world.kill_worker();
  world.store.lose_everything();
  slot().ours = false;
  world.start_worker();
  world.pass(kMinuteMs);
  (void)world.placement.allocate(world.provider().row.uuid, "vm");
  look();
  EXPECT_EQ(world.store.stored(slot().address), nullptr);
  EXPECT_EQ(reserved(), 0);
}

// -------------------------------------------------------------------------------------------------
// What comes late, again, or at the wrong moment.

struct CyborgEdge : CyborgSpec {
  [[nodiscard]] Arq bound_arq(const char* updated_at = "") {
    Arq arq = arq_of(slot().address, "arq-1", "vm-of-old");
    arq.updated_at = updated_at;
    return arq;
  }
  void hear(const std::string& event, const Arq& arq) {
    world.conductor->take(arq_kick(event, arq));
  }
  void hear_unbound(Arq arq) {
    arq.state = ArqState::unbound;
    hear("accelerator_request.unbind.end", arq);
  }
};

TEST_F(CyborgEdge, ATenancyThatBeganAndEndedBetweenTwoSurveysIsCleanedAfter) {
  hear("accelerator_request.bind.end", bound_arq());
  hear_unbound(bound_arq());
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_EQ(world.record().stage, Stage::available);
}

TEST_F(CyborgEdge, WordsOfATenancyBeforeTheReleaseEndNoHold) {
  use_it();
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  ASSERT_EQ(world.releases, 1U);
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  look();
  ASSERT_TRUE(world.record().held);
  hear("accelerator_request.bind.end", bound_arq("2001-01-01T00:00:00Z"));
  hear_unbound(bound_arq("2001-01-01T00:00:00Z"));
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 1U);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(CyborgEdge, AReleaseThatWasReadBackOwesNoErrorToTheNextTenancy) {
  use_it();
  world.placement.on_released = [this](Provider&) {
    if (dead_) return;
    dead_ = true;
    world.scheduler.outside(0, [this] { world.kill_worker(); });
  };
  world.tenancy_ends();
  world.kick({0});
  world.pass(kMinuteMs);
  ASSERT_EQ(world.conductor, nullptr);
  world.placement.on_released = nullptr;
  world.start_worker();
  world.pass(kHalfHourMs);
  ASSERT_EQ(world.record().stage, Stage::available);
  use_it();
  bool once = false;
  world.store.on_saved = [&](const Record& record, const JournalEntry&) {
    if (record.stage != Stage::looking || once) return;
    once = true;
    world.drives->breaks(slot().address);
  };
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  ASSERT_TRUE(once);
  EXPECT_EQ(world.record().stage, Stage::available) << world.record().last_error;
}

TEST_F(CyborgEdge, AReleaseThatCannotBeReadBackBecauseItsProviderIsAnotherIsAnError) {
  use_it();
  die_once_at(Stage::releasing);
  const std::string name = world.provider().row.name;
  ASSERT_TRUE(world.placement.remove(world.provider().row.uuid));
  world.placement.create(name, false, true).inventory.reserved = 1;
  const auto erases = world.erases;
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(world.erases, erases);
}

TEST_F(CyborgEdge, TheUnbindsOwnCastHeardAgainEndsNoRestartsError) {
  use_it();
  Kick cast;
  cast.command = "cleanup_device";
  cast.address = to_string(slot().address);
  cast.sent_at = world.scheduler.now().wall;
  die_once_at(Stage::erasing);
  world.start_worker();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  world.conductor->take(cast);
  world.pass(kMinuteMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  // An administrator's, who has seen it.
  cast.sent_at = world.scheduler.now().wall;
  world.command("clean", slot().address);
  world.conductor->take(cast);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

TEST_F(CyborgEdge, CleanLetsGoOfNoArqWhileAnInstanceHasTheDevice) {
  use_it();
  world.kick({0});
  Arq arq = bound_arq();
  arq.instance_uuid = "other";
  hear("accelerator_request.bind.end", arq);
  world.pass(kMinuteMs);
  world.command("clean", slot().address);
  world.pass(kMinuteMs);
  bool released = true;
  world.store.load_arqs("compute-1", [&](Result<std::vector<Arq>> arqs) {
    ASSERT_TRUE(arqs.ok());
    ASSERT_EQ(arqs->size(), 1U);
    released = arqs->front().released;
  });
  world.pass(1'000);
  EXPECT_FALSE(released);
}

TEST_F(CyborgEdge, ALockLostWhileTheLedgerIsFullEndsTheRelease) {
  use_it();
  world.store.on_saved = [this](const Record& record, const JournalEntry&) {
    if (record.stage != Stage::releasing || dead_) return;
    dead_ = true;
    world.disk.full = true;
    world.store.lose_everything();
    EXPECT_TRUE(world.store.rival_takes(slot().address, kHalfHourMs));
  };
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  EXPECT_TRUE(dead_);
  EXPECT_EQ(world.releases, 0U);
  EXPECT_EQ(reserved(), 1);
}

// -------------------------------------------------------------------------------------------------
// [nvme] manage_providers.

struct Managed : CyborgEdge {
  // One that Placement does not know.
  void unknown_drive() {
    world.kill_worker();
    world.store.lose_everything();
    world.disk.entries.clear();
    (void)world.placement.remove(world.provider().row.uuid);
    slot().unregistered = true;
    slot().provider_name = "compute-1_" + to_string(slot().address);
    world.conductor_options.manage_providers = true;
  }
  [[nodiscard]] bool registered() {
    return world.placement.find_by_name(slot().provider_name) != nullptr;
  }
};

TEST_F(Managed, ADriveIsRegisteredWithoutWaitingForTheNextPeriodicSurvey) {
  unknown_drive();
  world.start_worker();
  world.pass(20'000);
  EXPECT_TRUE(registered());
}

TEST_F(Managed, ADriveTakenOutOfThePoolThatBearsAFilesystemWaitsForEnrolment) {
  unknown_drive();
  world.start_worker();
  world.pass(kHalfHourMs);
  ASSERT_TRUE(registered());
  ASSERT_EQ(world.record().stage, Stage::available);
  const auto erases = world.erases;
  ASSERT_TRUE(world.placement.remove(world.provider().row.uuid));
  world.drive().signatures = {"ext4"};
  look();
  world.pass(kHalfHourMs);
  EXPECT_FALSE(registered());
  EXPECT_EQ(world.erases, erases);
  EXPECT_THAT(world.store.stored(slot().address)->waiting_for, HasSubstr("ext4"));
}

TEST_F(Managed, ADriveOfTwoClaimantsIsNotRegisteredThoughItCameLater) {
  unknown_drive();
  world.one_claimant = [](std::uint16_t, std::uint16_t, const PciAddress&) -> Status {
    return Error{Errc::invalid, "InvalidConfiguration: two claim it"};
  };
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_FALSE(registered());
  EXPECT_THAT(world.store.stored(slot().address)->waiting_for, HasSubstr("two claim it"));
}

TEST_F(Managed, AFormerProviderOfSomebodyElseIsTold) {
  unknown_drive();
  LedgerEntry entry;
  entry.provider = "11111111-2222-4333-8444-555555555555";
  entry.serial = world.drive().serial;
  world.disk.entries[slot().address] = entry;
  world.log.enabled = true;
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_FALSE(registered());
  const std::string told = "its former provider 11111111-2222-4333-8444-555555555555";
  const auto first = world.log.text.find(told);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(world.log.text.find(told, first + 1), std::string::npos) << "once";
}

}  // namespace
}  // namespace reclaim::sim
