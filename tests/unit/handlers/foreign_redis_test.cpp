// A second writer of Redis: somebody on another host of the fleet who has its password. He gets
// neither a signature nor a release, and what he writes is not taken over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kLongMs = 60 * kMinuteMs;

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
  world->pass(kLongMs);
  EXPECT_FALSE(is_signed(invented().id));
  const auto records = world->conductor->records();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().stage, Stage::error);
  EXPECT_NE(records.front().damage, "");
  // Removed, the device is met again.
  world->store.mend(record.address, true);
  world->pass(kLongMs);
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
  world->pass(kLongMs);
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
  world->pass(kLongMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->erases, 1U);
}

// The upgrade path: the key is made with the first start, so no record can carry its code.
TEST_F(ForeignRedis, ARecordOfAnOlderVersionIsShownAndNothingRestsOnIt) {
  begin();
  clean_once();
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  world->kill_worker();
  Record record = world->record();
  record.certificate_pending = encode_certificate(invented());
  record.erase_begun = true;
  record.accepted = true;
  record.evidence = record.verification = "{}";
  world->store.put_back(record);
  world->store.age(record.address);
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->record().instance, record.instance);
  EXPECT_EQ(world->record().certificate_pending, "");
  EXPECT_FALSE(world->record().erase_begun);
  EXPECT_FALSE(world->record().accepted);
  EXPECT_GT(world->record().epoch, record.epoch) << "it is written again at once";
  EXPECT_FALSE(is_signed(invented().id));
  world->tenancy_ends();
  world->kick({0});
  world->pass(kLongMs);
  EXPECT_EQ(world->releases, 2U);
}

}  // namespace
}  // namespace reclaim::sim
