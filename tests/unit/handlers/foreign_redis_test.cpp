// A second writer of Redis: somebody on another host of the fleet who has its password. He gets
// neither a signature nor a release, and what he writes is not taken over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

// Of a drive that was never in this host.
Certificate invented() {
  Certificate c;
  c.id = "11111111-1111-4111-8111-111111111111";
  c.host = "compute-1";
  c.address = "0000:c1:00.0";
  c.serial = "NEVER-HERE";
  c.method = "sanitize_crypto";
  c.sanitization_class = "purge";
  c.evidence = c.verification = c.findings = "{}";
  return c;
}

struct ForeignRedis : ::testing::Test {
  void begin() {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
  }
  // Its worker is gone, and the ledger has an enrolment by the drive's Device Serial Number.
  LedgerEntry& accepted_by_hardware() {
    begin();
    world->kill_worker();
    LedgerEntry& line = world->disk.entries.at(world->slots[0].address);
    line.accepted = true;
    line.enrolled_serial.clear();
    return line;
  }
  // As they are loaded, before a survey.
  void await_records() {
    for (int tries = 0; tries < 100 && world->conductor->records().empty(); ++tries) {
      world->pass(10);
    }
    ASSERT_FALSE(world->conductor->records().empty());
  }
  void clean_once() {
    world->tenancy_ends();
    world->kick({0});
    world->pass(kMinuteMs);
    ASSERT_EQ(world->releases, 1U);
  }
  [[nodiscard]] bool is_signed(const std::string& id) const {
    return world->disk.certificates.contains(id);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  std::optional<World> world;
};

TEST_F(ForeignRedis, ARecordThatThisHostDidNotWriteIsQuarantinedAtTheStart) {
  begin();
  clean_once();
  world->kill_worker();
  Record record = world->record();
  record.epoch += 1;
  record.certificate_pending = encode_certificate(invented());
  world->store.forge(record);
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_FALSE(is_signed(invented().id));
  const auto records = world->conductor->records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().stage, Stage::error);
  EXPECT_NE(records.front().damage, "");
  // Removed, the device is met again.
  world->store.mend(record.address, true);
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
}

TEST_F(ForeignRedis, ARecordReplacedUnderARunningWorkerIsWrittenAgain) {
  begin();
  clean_once();
  Record record = world->record();
  record.epoch += 1000;
  record.certificate_pending = encode_certificate(invented());
  for (const bool authentic : {false, true}) {
    SCOPED_TRACE(authentic);
    if (authentic) {
      world->store.put_back(record);
    } else {
      world->store.forge(record);
    }
    world->tenancy_begins();
    world->kick({0});
    world->pass(2 * kMinuteMs);
    EXPECT_EQ(world->record().stage, Stage::allocated);
    EXPECT_EQ(world->record().epoch < record.epoch, !authentic) << "an own one is written over";
    EXPECT_EQ(world->record().certificate_pending, "");
    world->tenancy_ends();
    world->kick({0});
    world->pass(2 * kMinuteMs);
    EXPECT_EQ(world->record().stage, Stage::available);
  }
  EXPECT_EQ(world->releases, 3U);
  EXPECT_FALSE(is_signed(invented().id));
}

TEST_F(ForeignRedis, ARecordReplacedAtRestIsWrittenAgainByThePeriodicSurvey) {
  begin();
  clean_once();
  Record record = world->record();
  record.epoch = kStoredEpochMax;
  record.stage = Stage::error;
  world->store.forge(record);
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_LT(world->record().epoch, kStoredEpochMax);
  world->kill_worker();
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->conductor->records().front().damage, "");
}

TEST_F(ForeignRedis, ARecordReplacedDuringACleaningStopsNothing) {
  begin();
  world->hardware.drives.at(world->slots[0].address).sanitize_ms = 30'000;
  world->tenancy_ends();
  world->kick({0});
  world->pass(10'000);
  ASSERT_EQ(world->record().stage, Stage::erasing);
  Record record = world->record();
  record.epoch += 7;
  record.stage = Stage::available;
  world->store.forge(record);
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->erases, 1U);
}

// -------------------------------------------------------------------------------------------------
// Records with a code that fits: old ones of ours put back, and, for the ledger's sake, ones that
// somebody made who has the host's key as well.

// A drive whose sanitize log looks finished, while it holds what the last tenant wrote.
TEST_F(ForeignRedis, AnEraseThatTheLedgerDoesNotKnowIsNotAdopted) {
  begin();
  world->drive().sanitize_ms = 30'000;
  world->tenancy_ends();
  world->kick({0});
  world->pass(10'000);
  Record erasing = world->record();
  ASSERT_EQ(erasing.stage, Stage::erasing);
  ASSERT_TRUE(erasing.erase_begun);
  world->pass(kMinuteMs);
  ASSERT_EQ(world->releases, 1U);
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->kill_worker();
  world->tenancy_ends();
  world->drive().kind = Kind::gde_stuck;
  world->drive().global_data_erased = true;
  world->drive().sstat = 1;
  const std::uint64_t erases = world->erases;
  erasing.cleaning_started_at = WallMs{world->scheduler.now().wall.ms + 1'000 * kHourMs};
  world->store.put_back(erasing);
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, erases + 1) << "it was taken for the one of the cleaning before";
  EXPECT_EQ(world->releases, 2U);
}

TEST_F(ForeignRedis, ACertificateThatTheLedgerDoesNotKnowIsNotSealed) {
  begin();
  clean_once();
  world->kill_worker();
  Record record = world->record();
  record.certificate_pending = encode_certificate(invented());
  world->store.put_back(record);
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_FALSE(is_signed(invented().id));
  // It does not stand in the way of the next cleaning either.
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->tenancy_ends();
  world->kick({0});
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 2U);
}

TEST_F(ForeignRedis, AReleaseThatIsOverIsNotCertifiedAgain) {
  begin();
  Record releasing;
  world->store.on_saved = [&, before = world->store.on_saved](const Record& record,
                                                              const JournalEntry& entry) {
    if (record.stage == Stage::releasing) releasing = record;
    if (before) before(record, entry);
  };
  clean_once();
  ASSERT_EQ(releasing.stage, Stage::releasing);
  const auto certificates = world->disk.certificates;
  ASSERT_EQ(certificates.size(), 1U);
  world->kill_worker();
  world->store.put_back(releasing);
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  // In doubt it was cleaned again: a certificate of its own, of an erasure of its own.
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->releases, 2U);
  EXPECT_EQ(world->disk.certificates.size(), 2U);
  EXPECT_EQ(world->disk.certificates.at(certificates.begin()->first), certificates.begin()->second);
}

TEST_F(ForeignRedis, AnOlderRecordPutBackNamesNoTenantInTheNextCertificate) {
  begin();
  const Record first = world->record();
  clean_once();
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_NE(world->record().instance, first.instance);
  world->kill_worker();
  world->tenancy_ends();
  world->store.put_back(first);
  const auto certificates = world->disk.certificates;
  world->start_worker();
  world->pass(kHourMs);
  ASSERT_EQ(world->releases, 2U);
  ASSERT_EQ(world->disk.certificates.size(), 2U);
  for (const auto& [id, text] : world->disk.certificates) {
    if (certificates.contains(id)) continue;
    EXPECT_EQ(decode_certificate(text)->instance, "");
    EXPECT_EQ(decode_certificate(text)->request_id, "");
  }
}

TEST_F(ForeignRedis, APlanThatIsNotAllowedTodayErasesNothing) {
  begin();
  world->tenancy_ends();
  world->drive().guarded = true;
  world->kick({0});
  world->pass(kMinuteMs);
  Record record = world->record();
  ASSERT_EQ(record.stage, Stage::pending_cleaning);
  ASSERT_FALSE(record.plan.empty());
  world->kill_worker();
  world->drive().guarded = false;
  record.plan.back().step = "overwrite";
  world->store.put_back(record);
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 0U);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("what is configured today asks for"));
  world->command("clean", record.address);
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(ForeignRedis, AnAcceptanceIsTheLedgersToRemember) {
  begin();
  world->kill_worker();
  Record record = world->record();
  record.accepted = true;
  world->store.put_back(record);
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_FALSE(world->conductor->records().front().accepted);
}

TEST_F(ForeignRedis, AnEnrolmentIsTheLedgersToRemember) {
  begin();
  world->drive().guarded = true;
  world->tenancy_ends();
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
  const Record before = world->record();
  world->drive().serial = "enrolled";
  world->kick({0});
  world->pass(kMinuteMs);
  world->command("enrol", world->slots[0].address);
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().serial, "enrolled") << world->record().waiting_for;
  world->kill_worker();
  world->store.put_back(before);
  world->start_worker();
  await_records();
  EXPECT_EQ(world->conductor->records().front().serial, "enrolled");
}

// Its release was recorded, and the ledger's line not struck yet.
TEST_F(ForeignRedis, ARecordThatIsNewerThanTheEnrolmentKeepsWhatItLearnt) {
  LedgerEntry& line = accepted_by_hardware();
  line.epoch = world->record().epoch - 1;
  const std::string serial = world->record().serial;
  ASSERT_FALSE(serial.empty());
  world->start_worker();
  await_records();
  EXPECT_EQ(world->conductor->records().front().serial, serial);
}

TEST_F(ForeignRedis, AnEnrolmentByItsHardwareIsTheLedgersToRemember) {
  LedgerEntry& line = accepted_by_hardware();
  line.hardware = "dsn=of-another";
  line.epoch = world->record().epoch;
  world->start_worker();
  await_records();
  EXPECT_EQ(world->conductor->records().front().serial, "") << "of the drive before";
  EXPECT_EQ(world->conductor->records().front().hardware, line.hardware);
}

TEST_F(ForeignRedis, WhatIsDirtyOnTheLedgerIsNotHeld) {
  begin();
  world->kill_worker();
  Record record = world->record();
  record.stage = Stage::available;
  record.held = true;
  world->store.put_back(record);
  world->placement.set_away(true);
  world->start_worker();
  await_records();
  EXPECT_FALSE(world->conductor->records().front().held);
}

// Without a key of orders nothing else tells the two apart.
TEST(LaggingReplica, BringsNoOrderBackThatWasTaken) {
  WorldOptions options;
  options.scripted = true;
  World world(options);
  world.start_worker();
  world.pass(kMinuteMs);
  int number = 0;
  const auto said_by_anyone = [&](const char* what) {
    Order order;
    order.order = what;
    order.address = to_string(world.slots[0].address);
    order.who = "alice@controller-1";
    order.request_id = "req-" + std::to_string(++number);
    order.issued_at = world.scheduler.now().wall;
    order.id = std::to_string(order.issued_at.ms) + "-0";
    return order;
  };
  const auto answer = [&](const Order& order) {
    world.conductor->take(order);
    world.pass(kMinuteMs);
    return world.store.order_answers.at(order.request_id);
  };
  world.slots[0].maintained = true;
  EXPECT_EQ(answer(said_by_anyone("maintenance_on")), "");
  const Order off = said_by_anyone("maintenance_off");
  EXPECT_EQ(answer(off), "");
  const Order again = said_by_anyone("maintenance_on");
  EXPECT_EQ(answer(again), "");
  EXPECT_THAT(answer(off), HasSubstr("a Redis that lacks that has brought it back"));
  EXPECT_TRUE(world.record().maintenance);
  EXPECT_EQ(world.failure.value_or(""), "");
}

}  // namespace
}  // namespace reclaim::sim
