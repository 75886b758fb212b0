// Single situations of the conductor, told step by step in a scripted world: what thousands of
// random ones (tests/sim) meet too seldom, or cannot tell from what may happen otherwise.
#include "handlers/conductor/conductor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

WorldOptions scripted(int slots) {
  WorldOptions options;
  options.scripted = true;
  options.scripted_slots = slots;
  return options;
}

const Record* shown(const std::vector<Record>& records, const PciAddress& address) {
  const auto it = std::find_if(records.begin(), records.end(),
                               [&](const Record& record) { return record.address == address; });
  return it == records.end() ? nullptr : &*it;
}

// A world in which every drive's tenant has just gone.
struct Dirty : ::testing::Test {
  void begin(int slots) {
    world.emplace(scripted(slots));
    world->start_worker();
    world->pass(kMinuteMs);
    for (std::size_t i = 0; i < world->slots.size(); ++i) world->tenancy_begins(i);
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void leave() {
    for (std::size_t i = 0; i < world->slots.size(); ++i) world->tenancy_ends(i);
    world->kick({0});
  }
  void TearDown() override {
    if (world) {
      EXPECT_EQ(world->failure.value_or(""), "");
    }
  }

  std::optional<World> world;
};

// -------------------------------------------------------------------------------------------------
// Clean steps.

class StepEnds : public Dirty, public ::testing::WithParamInterface<Errc> {};

TEST_P(StepEnds, QuarantinesTheDrive) {
  begin(1);
  world->drive().steps_end_with = GetParam();
  leave();
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("not seen to complete"));
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->erases, 0U);
  EXPECT_EQ(world->releases, 0U);
}

// What was not seen to complete may have happened or not: neither is looked for again by trying.
INSTANTIATE_TEST_SUITE_P(Answers, StepEnds, ::testing::Values(Errc::failed, Errc::unknown));

TEST_F(Dirty, AnEraseIsBoundedByTheCleanupTimeout) {
  begin(1);
  world->drive().sanitize_ms = kHourMs;
  leave();
  world->pass(14 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::erasing);
  world->pass(2 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("not seen to end in time"));
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

TEST_F(Dirty, ADriveThatCannotBeClearedAsItsEntrySaysLeavesThePoolWithAnError) {
  WorldOptions options = scripted(1);
  options.trace = true;
  world.emplace(options);
  world->slots.front().action = nvme::ClearAction::sanitize;
  world->drive().capabilities.sanicap = 0;
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(world->log.text, ContainsRegex("ERROR reclaim.conductor [^\n]*policy_unsatisfied"));
}

TEST_F(Dirty, ADriveIsClaimedUnderItsLockAlone) {
  begin(1);
  const PciAddress address = world->slots.front().address;
  ASSERT_TRUE(world->store.rival_takes(address, kDayMs));
  leave();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("holds the lock"));
  EXPECT_EQ(world->erases, 0U);
  world->store.rival_gives_back(address);
  bool unlocked = false;
  world->drives->on_claim = [&](const PciAddress& claimed) {
    unlocked = unlocked || !world->store.granted(claimed);
  };
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_FALSE(unlocked);
}

TEST_F(Dirty, AStepThatAGuardRefusesIsTriedAgain) {
  begin(1);
  world->drive().steps_end_with = Errc::refused;
  leave();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world->releases, 0U);
  world->drive().steps_end_with.reset();
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
}

// -------------------------------------------------------------------------------------------------
// Records that cannot be read.

TEST_F(Dirty, ADamagedRecordIsShownAndNothingIsDoneWithItsDriveWhileTheOthersGoOn) {
  begin(2);
  const PciAddress address = world->slots[0].address;
  world->kill_worker();
  world->store.damage(address);
  const std::uint64_t before = world->drive(0).version;
  world->tenancy_ends(0);
  world->tenancy_ends(1);
  world->start_worker();
  world->pass(kHourMs);

  EXPECT_EQ(world->drive(0).version, before);
  EXPECT_EQ(world->provider(0).inventory.reserved, 1);
  const auto records = world->conductor->records();
  ASSERT_NE(shown(records, address), nullptr);
  EXPECT_EQ(shown(records, address)->stage, Stage::error);
  EXPECT_THAT(shown(records, address)->last_error, HasSubstr("field 'serial' is missing"));
  EXPECT_EQ(world->record(1).stage, Stage::available);
  EXPECT_EQ(world->provider(1).inventory.reserved, 0);

  for (const char* what : {"clean", "abort", "enrol"}) world->command(what, address);
  world->pass(kHourMs);
  EXPECT_EQ(world->drive(0).version, before);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(Dirty, ADirtyDriveOfADamagedRecordIsNotLeftOnOffer) {
  begin(1);
  world->kill_worker();
  world->store.damage(world->slots[0].address);
  world->tenancy_ends();
  world->placement.set_reserved_by(Offered::by_nova, world->provider().row.uuid, 0);
  world->conductor_options.watch_ms = 24 * kHourMs;  // by its survey alone
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->erases, 0U);
}

// About when its cleaning begins.
TEST_F(Dirty, WhatIsToldToBeEnrolledIs) {
  begin(1);
  bool enrolled = false;
  bool refused = false;
  world->store.on_saved = [&, checks = world->store.on_saved](const Record& record,
                                                              const JournalEntry& entry) {
    checks(record, entry);
    enrolled = enrolled || entry.trigger == "operator_enrol";
  };
  world->store.on_refused = [&, checks = world->store.on_refused](const Order& order) {
    checks(order);
    refused = true;
  };
  // 7 is a prime: the tries do not keep step with the worker's own timers.
  for (std::int64_t behind_ms = 0; behind_ms < 300; behind_ms += 7) {
    leave();
    world->pass(behind_ms);
    enrolled = refused = false;
    world->command("enrol", world->slots[0].address);
    world->pass(kHourMs);
    EXPECT_EQ(enrolled, !refused) << behind_ms;
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
  }
}

class Mended : public Dirty, public ::testing::WithParamInterface<bool> {};

TEST_P(Mended, RecordIsTakenUpAgain) {
  begin(1);
  const PciAddress address = world->slots[0].address;
  world->kill_worker();
  world->store.damage(address);
  world->tenancy_ends();
  world->start_worker();
  world->pass(kHourMs);
  ASSERT_EQ(world->releases, 0U);
  world->store.mend(address, GetParam());
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->releases, 1U);
}

INSTANTIATE_TEST_SUITE_P(OrRemoved, Mended, ::testing::Bool());

// -------------------------------------------------------------------------------------------------
// Holds.

TEST_F(Dirty, AHoldOutlastsASurveyThatCannotReadTheDrive) {
  begin(1);
  leave();
  world->pass(kMinuteMs);
  ASSERT_EQ(world->releases, 1U);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_TRUE(world->record().held);
  world->drive().driver.clear();
  world->kick({0});
  world->pass(kMinuteMs);
  world->drive().driver = "nvme";
  world->drive().host_reads += 3;  // the kernel looks for partitions
  world->kick({0});
  world->pass(kHourMs);
  EXPECT_TRUE(world->record().held);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

// -------------------------------------------------------------------------------------------------
// Certificates.

// The second tenancy begins and ends between two surveys, as when the worker was down meanwhile.
TEST_F(Dirty, ACertificateNamesNobodyOfAnEarlierTenancy) {
  begin(1);
  const std::string first = world->record().instance;
  ASSERT_EQ(world->record().instance_source, InstanceSource::allocation);
  leave();
  world->pass(kMinuteMs);
  ASSERT_EQ(world->releases, 1U);
  const auto certificate = [this] {
    return decode_certificate(world->disk.certificates.at(world->record().certificate_id));
  };
  EXPECT_EQ(certificate()->instance, first);
  EXPECT_EQ(certificate()->instance_source, "allocation");
  EXPECT_EQ(world->record().instance, "");

  world->tenancy_begins();
  world->tenancy_ends();
  world->kick({0});
  world->pass(kMinuteMs);
  ASSERT_EQ(world->releases, 2U);
  EXPECT_EQ(certificate()->instance, "");
  EXPECT_EQ(certificate()->request_id, "");
  EXPECT_EQ(certificate()->instance_source, "not_seen");
}

// An answer of half a minute ago does not show who has come since.
TEST_F(Dirty, NothingIsReleasedOnAnAnswerOfTheDriveThatComesLate) {
  begin(1);
  std::vector<std::string> triggers;
  world->store.on_saved = [&](const Record&, const JournalEntry& entry) {
    if (entry.trigger == "look_ok" && triggers.empty()) {
      world->drives->next_last_answer_late_ms = kMinuteMs / 2;
    }
    if (entry.trigger == "look_ok" || !triggers.empty()) triggers.push_back(entry.trigger);
  };
  leave();
  world->pass(5 * kMinuteMs);
  EXPECT_THAT(triggers, ElementsAre("look_ok", "release_conflict", "still_reserved", "look_ok",
                                    "released", "certificate_kept"));
  EXPECT_EQ(world->releases, 1U);
}

// The answer of the release is lost, the next instance takes the drive at once, and the worker dies
// before the certificate is written.
struct TakenAtOnce : Dirty, ::testing::WithParamInterface<bool> {
  void release_and_die() {
    const bool burned = GetParam();
    begin(1);
    instance = world->record().instance;
    ASSERT_NE(instance, "");
    world->placement.on_released = [this, burned](Provider& provider) {
      (void)world->placement.allocate(provider.row.uuid, kNext);
      if (burned) world->placement.set_reserved_by(Offered::no, provider.row.uuid, 1);
    };
    world->placement.on_release_asked = [this](const placement::ProviderView&) {
      world->faults.put_lost_done = 1;
    };
    world->store.on_saved = [this](const Record& record, const JournalEntry&) {
      if (record.stage != Stage::allocated || record.certificate_id.empty()) return;
      world->store.on_saved = nullptr;
      world->scheduler.outside(0, [this] { world->kill_worker(); });
    };
    leave();
    world->pass(kMinuteMs);
    world->faults.put_lost_done = 0;
    ASSERT_EQ(world->conductor, nullptr);
    ASSERT_EQ(world->record().stage, Stage::allocated);
    ASSERT_TRUE(world->disk.certificates.empty());
  }
  [[nodiscard]] std::string certificate() const {
    const auto& kept = world->disk.certificates;
    const auto it = kept.find(world->record().certificate_id);
    return it == kept.end() ? "" : it->second;
  }

  static constexpr const char* kNext = "instance-next";
  std::string instance;  // whose tenancy the certificate ends
};

TEST_P(TakenAtOnce, TheLostCertificateIsMadeAtTheNextStart) {
  release_and_die();
  world->start_worker();
  world->pass(kMinuteMs);
  const auto made = decode_certificate(certificate());
  ASSERT_TRUE(made.ok()) << certificate();
  EXPECT_EQ(made->instance, instance);
  EXPECT_NE(made->instance, kNext);
  EXPECT_FALSE(made->evidence.empty());
  // The drive is the next instance's, and dirty.
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->record().instance, kNext);
  EXPECT_TRUE(world->disk.entries.at(world->slots[0].address).dirty);
}

TEST_P(TakenAtOnce, ItNeverNamesTheInstanceThatCameAfterwards) {
  release_and_die();
  world->disk.full = true;
  world->start_worker();
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().instance, kNext);
  ASSERT_EQ(certificate(), "");
  world->kill_worker();
  world->disk.full = false;
  world->start_worker();
  world->pass(kMinuteMs);
  const auto made = decode_certificate(certificate());
  ASSERT_TRUE(made.ok()) << certificate();
  EXPECT_EQ(made->instance, instance);
}

INSTANTIATE_TEST_SUITE_P(AndBurned, TakenAtOnce, ::testing::Bool());

}  // namespace
}  // namespace reclaim::sim
