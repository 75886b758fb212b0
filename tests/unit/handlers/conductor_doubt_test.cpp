// What an earlier worker, another writer of Redis or a service that is away leaves behind: in doubt
// a device stays reserved. Told step by step in a scripted world, as in conductor_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

WorldOptions scripted(bool cyborg) {
  WorldOptions options;
  options.scripted = true;
  options.cyborg = cyborg;
  return options;
}

struct Doubt : ::testing::Test {
  explicit Doubt(bool cyborg = false) : Doubt(scripted(cyborg)) {}
  explicit Doubt(const WorldOptions& options) : world(options) {}
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  void begin() {
    world.start_worker();
    world.pass(kMinuteMs);
    world.tenancy_begins();
    look();
  }
  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  void leave() {
    world.tenancy_ends();
    world.kick({0});
  }
  // Calls `what` once, when a record of that stage was written.
  void when_saved(Stage stage, std::function<void()> what) {
    world.store.on_saved = [this, stage, what = std::move(what), checks = world.store.on_saved](
                               const Record& record, const JournalEntry& entry) {
      checks(record, entry);
      if (record.stage != stage) return;
      world.scheduler.outside(0, what);
      const auto kept = checks;
      world.store.on_saved = kept;
    };
  }
  [[nodiscard]] std::int64_t reserved() { return world.provider().inventory.reserved; }

  World world;
};

struct DoubtOfCyborg : Doubt {
  DoubtOfCyborg() : Doubt(true) {}
};

// Between the survey that admitted it and the claim somebody un-reserved it, and Nova gave it away.
TEST_F(Doubt, WhatAnInstanceGotSinceItsAdmissionIsNotTouched) {
  begin();
  when_saved(Stage::guarding, [this] {
    const std::string uuid = world.provider().row.uuid;
    world.placement.set_reserved_by(Offered::by_nova, uuid, 0);
    EXPECT_TRUE(world.placement.allocate(uuid, "instance-of-the-middle"));
    world.placement.set_reserved_by(Offered::no, uuid, 1);
  });
  leave();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(world.record().instance, "instance-of-the-middle");
  EXPECT_EQ(world.erases, 0U);
}

// Of its record the ledger remembers that much.
TEST_F(Doubt, AnErrorWaitsForAnOperatorThoughItsRecordWasLost) {
  begin();
  world.drive().steps_end_with = Errc::failed;
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  world.drive().steps_end_with.reset();
  world.kill_worker();
  world.store.lose_everything();
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_THAT(world.record().last_error, HasSubstr("before Redis lost its record"));
  EXPECT_EQ(world.erases, 0U);
  world.command("clean", world.slots.front().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

// Somebody who may write there put the record of some seconds before back, or Redis lost its last
// writes.
TEST_F(Doubt, AnErrorWaitsForAnOperatorThoughAnOlderRecordIsThere) {
  begin();
  world.drive().steps_end_with = Errc::failed;
  std::int64_t pending_at = 0;
  when_saved(Stage::pending_cleaning, [&] { pending_at = world.scheduler.now_ms(); });
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  world.drive().steps_end_with.reset();
  world.kill_worker();
  world.store.lose_last(world.scheduler.now_ms() - pending_at);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  world.start_worker();
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(world.erases, 0U);
  world.command("clean", world.slots.front().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

// -------------------------------------------------------------------------------------------------
// Releases that come late.

// The worker dies before its PUT is made, and Redis forgets that it ever came that far. The line of
// the ledger does not say at which generation: nothing reads it back.
struct LateRelease : Doubt {
  void die_while_releasing() {
    when_saved(Stage::erasing, [this] { erasing_at = world.scheduler.now_ms(); });
    world.placement.on_release_asked = [this](const placement::ProviderView& view) {
      sent = view;
      world.faults.put_lost_not = 1;
      world.scheduler.outside(0, [this] { world.kill_worker(); });
    };
    leave();
    world.pass(kMinuteMs);
    world.faults.put_lost_not = 0;
    world.placement.on_release_asked = nullptr;
    ASSERT_TRUE(sent);
    ASSERT_EQ(world.conductor, nullptr);
    world.store.lose_last(world.scheduler.now_ms() - erasing_at);
    world.disk.entries.at(world.slots[0].address).release_generation = -1;
    ASSERT_EQ(world.record().stage, Stage::erasing);
  }
  // The PUT of the worker that died reaches Placement.
  void release_arrives() {
    world.placement.set_reserved(*sent, 0, [](const Result<placement::ProviderView>&) {});
    world.pass(kMinuteMs);
  }

  std::optional<placement::ProviderView> sent;
  std::int64_t erasing_at = 0;
};

TEST_F(LateRelease, OffersNoDeviceThatIsInErrorByThen) {
  begin();
  world.conductor_options.interrupted_cleaning = InterruptedCleaning::error;
  die_while_releasing();
  world.start_worker();
  world.pass(5'000);
  ASSERT_EQ(world.record().stage, Stage::error);
  release_arrives();
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.releases, 0U);
}

TEST_F(LateRelease, OffersNoDeviceThatWaitsInMaintenance) {
  begin();
  die_while_releasing();
  world.disk.entries.at(world.slots[0].address).maintenance = true;
  world.start_worker();
  world.pass(5'000);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  release_arrives();
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.releases, 0U);
}

TEST_F(LateRelease, OffersNoDeviceThatItsRecordTakesForCleanByThen) {
  begin();
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.releases, 1U);
  const std::int64_t clean_at = world.scheduler.now_ms();
  world.tenancy_begins();
  look();
  die_while_releasing();
  world.store.lose_last(world.scheduler.now_ms() - clean_at);
  ASSERT_EQ(world.record().stage, Stage::available);
  world.drive().guarded = true;  // so that nothing is begun
  world.start_worker();
  world.pass(5'000);
  release_arrives();
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world.releases, 1U);
}

// -------------------------------------------------------------------------------------------------
// An erasure that a tenancy came after.

// An erase is under way when the worker dies. Before another starts, somebody offers the device,
// and a tenant comes and goes. His drive says Global Data Erased all the same.
struct OnOfferMeanwhile : Doubt, ::testing::WithParamInterface<InterruptedCleaning> {
  void offered_and_used_while_no_worker_runs() {
    world.conductor_options.interrupted_cleaning = GetParam();
    begin();
    world.drive().kind = Kind::gde_stuck;
    when_saved(Stage::erasing,
               [this] { world.scheduler.outside(1'000, [this] { world.kill_worker(); }); });
    leave();
    world.pass(kMinuteMs);
    ASSERT_EQ(world.conductor, nullptr);
    ASSERT_TRUE(world.record().erase_begun);
    settle_sanitize(world.drive(), world.scheduler.now_ms(), world.rng);
    world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
    world.tenancy_begins();
    world.tenancy_ends();
    world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
    ASSERT_NE(world.drive().owner, 0U);
  }
  // What its survey saw is seen by no other: the device is reserved by then.
  void only_its_reservation_outlives_the_next_worker() {
    world.placement.on_written = [this](const Provider&) {
      world.placement.on_written = nullptr;
      world.scheduler.outside(0, [this] { world.kill_worker(); });
    };
    world.start_worker();
    when_saved(GetParam() == InterruptedCleaning::error ? Stage::error : Stage::pending_cleaning,
               [this] { world.store.set_away(true); });
    world.pass(kMinuteMs);
    ASSERT_EQ(world.conductor, nullptr);
    ASSERT_EQ(reserved(), 1);
    ASSERT_TRUE(world.record().erase_begun);
    world.store.set_away(false);
    world.start_worker();
    world.pass(kMinuteMs);
  }
  void clean() {
    if (GetParam() == InterruptedCleaning::error) world.command("clean", world.slots[0].address);
    world.pass(kHourMs);
  }
};

TEST_P(OnOfferMeanwhile, IsErasedFromTheBeginning) {
  offered_and_used_while_no_worker_runs();
  world.start_worker();
  world.pass(kMinuteMs);
  clean();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.drive().owner, 0U);
  EXPECT_EQ(world.releases, 1U);
}

TEST_P(OnOfferMeanwhile, IsErasedFromTheBeginningThoughOnlyItsReservationOutlivedTheWorker) {
  offered_and_used_while_no_worker_runs();
  only_its_reservation_outlives_the_next_worker();
  clean();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.drive().owner, 0U);
}

// The tenant began the very same sanitize himself, and it still runs: it is not adopted, so that
// what else he left is looked at.
TEST_P(OnOfferMeanwhile, IsCleanedFromTheBeginningThoughItsTenantSanitizesIt) {
  offered_and_used_while_no_worker_runs();
  const std::int64_t now_ms = world.scheduler.now_ms();
  world.drive().running =
      Sanitize{nvme::EraseMethod::sanitize_crypto, now_ms, now_ms + 4 * kMinuteMs};
  world.drive().locked = true;
  only_its_reservation_outlives_the_next_worker();
  clean();
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_THAT(world.record().last_error, HasSubstr("locked by a tenant"));
  EXPECT_EQ(world.releases, 0U);
}

INSTANTIATE_TEST_SUITE_P(Policies, OnOfferMeanwhile,
                         ::testing::Values(InterruptedCleaning::error,
                                           InterruptedCleaning::resume));

// -------------------------------------------------------------------------------------------------
// Other writers of Redis.

// interrupted_cleaning = error, and a write of the worker that died reaches Redis only after its
// successor has loaded the records.
struct LateWrite : Doubt, ::testing::WithParamInterface<std::int64_t> {};

TEST_P(LateWrite, OfADeadWorkerDoesNotUndoInterruptedCleaningError) {
  world.conductor_options.interrupted_cleaning = InterruptedCleaning::error;
  begin();
  world.drive().guarded = true;
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  world.kill_worker();
  Record late = world.record();
  late.epoch += 1;
  late.waiting_for = "the last remark of the dead worker";
  world.drive().guarded = false;
  world.start_worker();
  world.scheduler.outside(GetParam(), [this, late] {
    world.store.save(late, LockToken{}, JournalEntry{}, [](const Result<Ok>&) {});
  });
  world.pass(kHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(world.erases, 0U);
}

INSTANTIATE_TEST_SUITE_P(At, LateWrite, ::testing::Range<std::int64_t>(0, 40, 2));

TEST_F(Doubt, ARunningWorkerWritesItsOwnRecordAgainOverAForeignOne) {
  begin();
  world.drive().guarded = true;
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  Record foreign = world.record();
  foreign.epoch += 1'000;
  foreign.stage = Stage::available;
  foreign.serial = "another";
  world.store.save(foreign, LockToken{}, JournalEntry{}, [](const Result<Ok>&) {});
  world.pass(100);
  world.command("abort", world.slots[0].address);
  world.pass(kMinuteMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(world.record().serial, world.drive().serial);
  EXPECT_GT(world.record().epoch, foreign.epoch);
  EXPECT_EQ(reserved(), 1);
}

// While the conflict is being settled an operator speaks.
TEST_F(Doubt, WhatWasSaidDuringAConflictIsNotForgotten) {
  begin();
  world.drive().guarded = true;
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  Record foreign = world.record();
  foreign.epoch += 1'000;
  world.store.save(foreign, LockToken{}, JournalEntry{}, [](const Result<Ok>&) {});
  world.pass(100);
  world.command("enrol", world.slots[0].address);
  const LedgerEntry& line = world.disk.entries.at(world.slots[0].address);
  while (line.ordered_at.ms == 0) world.pass(1);
  world.pass(20);                                  // the ledger has it, and the record conflicts
  world.command("abort", world.slots[0].address);  // waits
  world.pass(kMinuteMs);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_TRUE(world.record().accepted);
}

TEST_F(Doubt, TheLedgerTellsASerialThatRedisHasForgotten) {
  begin();
  const std::string before = world.drive().serial;
  world.kill_worker();
  Record old = world.record();
  ASSERT_EQ(old.serial, before);
  old.epoch += 1;
  old.serial.clear();
  world.store.save(old, LockToken{}, JournalEntry{}, [](const Result<Ok>&) {});
  world.tenancy_ends();
  world.drive().serial = "another drive";
  world.start_worker();
  world.pass(kHourMs);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_THAT(world.record().last_error, HasSubstr("another serial than recorded"));
}

// It is on offer by the time that the order's turn comes.
TEST_F(Doubt, ACleanThatIsOrderedWhileTheDeviceIsGivenBackIsOver) {
  begin();
  int claims = 0;
  world.drives->on_claim = [&claims](const PciAddress&) { claims += 1; };
  when_saved(Stage::available, [this] { world.command("clean", world.slots[0].address); });
  leave();
  world.pass(kHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(claims, 1) << "claimed while it was on offer";
}

// The kernel reads before the next survey, which could not tell it from a tenancy any more.
TEST_F(Doubt, AHoldIsKnownThoughTheAnswerToItsRecordWasLost) {
  begin();
  leave();
  world.pass(kHourMs);
  ASSERT_EQ(world.erases, 1U);
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  world.faults.store_lost_done = 1;
  when_saved(Stage::available, [this] {
    world.faults.store_lost_done = 0;
    world.store.set_away(true);
  });
  look();
  world.drive().host_reads += 3;
  world.store.set_away(false);
  look();
  world.pass(kHourMs);
  EXPECT_TRUE(world.record().held);
  EXPECT_EQ(world.erases, 1U);
}

// The write that waits for Redis is only a note, and a tenant has the device now.
TEST_F(Doubt, ATenancyIsOnTheLedgerThoughANoteOfItsDeviceCannotBeWritten) {
  begin();
  leave();
  world.pass(kHourMs);
  ASSERT_FALSE(world.disk.entries.at(world.slots[0].address).dirty);
  world.faults.store_lost_done = 1;
  when_saved(Stage::available, [this] {
    world.faults.store_lost_done = 0;
    world.store.set_away(true);
  });
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  look();
  world.placement.set_reserved_by(Offered::by_operator, world.provider().row.uuid, 0);
  world.tenancy_begins();
  look();
  EXPECT_TRUE(world.disk.entries.at(world.slots[0].address).dirty);
}

// -------------------------------------------------------------------------------------------------
// Reservations.

struct Unrecorded : DoubtOfCyborg, ::testing::WithParamInterface<bool> {};

// Redis, or the ledger's disk, goes away in the moment of a release, and the next instance comes.
TEST_P(Unrecorded, ABoundDeviceIsReservedWhileItsRecordCannotBeWritten) {
  begin();
  const auto released = world.placement.on_released;
  world.placement.on_released = [this, released](Provider& provider) {
    released(provider);
    if (GetParam()) {
      world.store.set_away(true);
    } else {
      world.disk.full = true;
    }
  };
  leave();
  world.pass(2 * kMinuteMs);
  ASSERT_EQ(world.releases, 1U);
  world.tenancy_begins();
  world.tell_arq(world.slots[0], "accelerator_request.bind.end");
  world.pass(5'000);
  EXPECT_EQ(reserved(), 1);
}

INSTANTIATE_TEST_SUITE_P(RedisIsAway, Unrecorded, ::testing::Bool());

// The certificate cannot be kept, so that the ledger says dirty; then the record is damaged.
TEST_F(Doubt, OurOwnReservationDoesNotBecomeAnOperatorsHold) {
  begin();
  const auto released = world.placement.on_released;
  world.placement.on_released = [this, released](Provider& provider) {
    released(provider);
    world.disk.full = true;
  };
  leave();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::available);
  world.placement.on_released = released;
  world.kill_worker();
  world.store.damage(world.slots[0].address);
  world.disk.full = false;
  world.start_worker();
  world.pass(kMinuteMs);
  ASSERT_EQ(reserved(), 1);
  world.store.mend(world.slots[0].address, false);
  world.pass(kHourMs);
  EXPECT_FALSE(world.record().held);
  EXPECT_EQ(reserved(), 0);
}

// -------------------------------------------------------------------------------------------------
// What Cyborg has under maintenance.

TEST_F(DoubtOfCyborg, IsNotGivenBackThoughCyborgsLastAnswerFailed) {
  begin();
  placement::CyborgDevice& device = world.cyborg.device(world.slots[0].address);
  when_saved(Stage::releasing, [this] { world.disk.full = true; });
  leave();
  world.pass(10'000);
  ASSERT_EQ(world.record().stage, Stage::releasing);
  device.status = "maintaining";
  look();
  world.cyborg.set_away(true);
  look();
  world.disk.full = false;
  world.pass(kHourMs);
  EXPECT_EQ(reserved(), 1);
  world.cyborg.set_away(false);
  device.status = "enabled";
  world.pass(kHourMs);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(DoubtOfCyborg, IsNotTouchedThoughItCameUnderMaintenanceAfterItsAdmission) {
  begin();
  placement::CyborgDevice& device = world.cyborg.device(world.slots[0].address);
  when_saved(Stage::guarding, [&device] { device.status = "maintaining"; });
  leave();
  world.pass(kHourMs);
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world.drive().version, 1U);  // as its tenant left it
  device.status = "enabled";
  world.pass(kHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

struct DoubtOfTwo : Doubt {
  DoubtOfTwo() : Doubt(two()) {}
  static WorldOptions two() {
    WorldOptions options = scripted(true);
    options.scripted_slots = 2;
    return options;
  }
};

// Cyborg is asked for another device's sake, and tells it first.
TEST_F(DoubtOfTwo, ACleaningEndsThoughTheBindingIsToldWhileAnotherDeviceIsAskedAbout) {
  world.start_worker();
  world.pass(kMinuteMs);
  world.drive(0).sanitize_ms = kHourMs;
  for (std::size_t slot : {0U, 1U}) {
    world.tenancy_begins(slot);
    look();
    if (slot == 1) {
      when_saved(Stage::guarding, [this] {
        Arq& arq = world.cyborg.arq("by-hand");
        arq.uuid = "by-hand";
        arq.state = ArqState::bound;
        arq.hostname = "compute-1";
        arq.attach_handle_type = "PCI";
        arq.address = world.slots[0].address;
        arq.updated_at = to_iso8601(WallMs{world.scheduler.now_ms()});
      });
    }
    world.tenancy_ends(slot);
    world.kick({0});
    world.pass(2'000);  // before the next survey
  }
  EXPECT_EQ(world.record(0).stage, Stage::error) << to_string(world.record(0).stage);
}

}  // namespace
}  // namespace reclaim::sim
