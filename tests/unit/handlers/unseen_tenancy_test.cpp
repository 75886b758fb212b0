// Tenancies that Placement does not tell of: a guest on a device that is free there, and one of an
// unmanaged drive that nobody saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

// The answer is of before he came, and the look that follows it is not.
TEST_P(Guest, BehindASlowAnswerOfPlacementIsNoAlarm) {
  make(GetParam());
  world->placement.touch(world->provider().row.uuid);
  world->placement.answers_take_ms = 20'000;
  world->kick({0});
  world->pass(10'000);
  world->placement.answers_take_ms = 0;
  world->tenancy_begins();
  world->pass(5 * kMinuteMs);
  EXPECT_THAT(world->log.text, Not(HasSubstr("Placement shows no allocation")));
  EXPECT_EQ(world->record().stage, Stage::allocated);
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
  world->drive().guarded = true;
  write_media(world->drive(), 4711, 1);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("cannot be claimed to read its counters (it "
                                                     "is mounted)"));
  world->drive().guarded = false;
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
}

// Nobody burns Cyborg's devices, and nothing reads what stands unmanaged.
struct OfCyborg : ::testing::TestWithParam<bool> {
  void make(bool managed) {
    WorldOptions options;
    options.scripted = options.cyborg = options.trace = true;
    options.cyborg_api = false;
    world.emplace(options);
    world->slots[0].managed = managed;
    if (!managed) world->drive().home = world->drive().driver = "vfio-pci";
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    look();
    end();
    look();
    world->pass(kHourMs);
    ASSERT_EQ(world->record().stage, Stage::available);
    ASSERT_EQ(world->erases, 1U);
    ASSERT_EQ(reserved(), 0);
    world->log.text.clear();
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void end() {
    world->tenancy_ends();
    world->drive().driver = world->drive().home;
  }
  void unseen_while_down() {
    world->kill_worker();
    world->tenancy_begins();
    end();
    world->start_worker();
  }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  void expect_cleaned_again() {
    EXPECT_EQ(world->drive().owner, 0U) << to_string(world->record().stage) << ", reserved "
                                        << reserved() << ": " << world->record().waiting_for;
    EXPECT_EQ(world->erases, 2U);
    EXPECT_EQ(reserved(), 0);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }
  std::optional<World> world;
};

TEST_P(OfCyborg, ATenancyWhileTheWorkerWasDownIsToldByTheGeneration) {
  make(GetParam());
  unseen_while_down();
  world->pass(kHourMs);
  expect_cleaned_again();
}

TEST_P(OfCyborg, IsCleanedOnceThoughCyborgAsksForItsCleanupToo) {
  make(GetParam());
  unseen_while_down();
  world->pass(5'000);
  world->command("cleanup_device", world->slots[0].address);
  world->pass(kHourMs);
  expect_cleaned_again();
}

TEST_P(OfCyborg, SoIsOneBetweenTwoSurveys) {
  make(GetParam());
  world->tenancy_begins();
  world->pass(1'000);
  end();
  world->pass(kHourMs);
  expect_cleaned_again();
}

TEST_P(OfCyborg, SoIsOneRightAfterTheReleaseThatNoSurveyFollowed) {
  make(GetParam());
  world->tenancy_begins();
  look();
  end();
  const std::uint64_t releases = world->releases;
  for (int s = 0; s < 3'600 && world->releases == releases; ++s) world->pass(100);
  ASSERT_GT(world->releases, releases);
  world->kill_worker();
  const std::uint64_t erases = world->erases;
  world->tenancy_begins();
  end();
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_GT(world->erases, erases);
  EXPECT_EQ(reserved(), 0);
}

TEST_P(OfCyborg, SoItIsWhereRedisHasLostTheRecord) {
  make(GetParam());
  world->kill_worker();
  world->store.lose_everything();
  world->tenancy_begins();
  end();
  world->start_worker();
  world->pass(kHourMs);
  expect_cleaned_again();
}

TEST_P(OfCyborg, ItsAgentIsNotToldThatSuchADriveIsClean) {
  make(GetParam());
  unseen_while_down();
  bool told_clean_and_dirty = false;
  for (int s = 0; s < 3'600; ++s) {
    world->pass(1'000);
    for (const ReportedDrive& told : world->conductor->drives_for_agent()) {
      told_clean_and_dirty = told_clean_and_dirty || (told.clean && world->drive().owner != 0);
    }
  }
  EXPECT_FALSE(told_clean_and_dirty);
  expect_cleaned_again();
  ASSERT_EQ(world->conductor->drives_for_agent().size(), 1U);
  EXPECT_TRUE(world->conductor->drives_for_agent().front().clean);
}

// Also an unmanaged one, which nobody reads where it stands.
TEST_P(OfCyborg, ItsAgentIsToldOfWhatIsCleanUntilThatIsInQuestion) {
  make(GetParam());
  look();
  const auto told = [this] { return world->conductor->drives_for_agent().front(); };
  EXPECT_TRUE(told().clean);
  EXPECT_TRUE(told().offered);
  world->drive().guarded = true;
  world->placement.touch(world->provider().row.uuid);
  world->kick({0});
  world->pass(kMinuteMs);
  EXPECT_EQ(told().clean, GetParam()) << "a managed drive's counters answer at once";
}

// A trait that somebody sets, say, and what an operator reserves and un-reserves in one minute.
TEST_P(OfCyborg, WritesThatNoTenantFollowedCostNoCleaning) {
  make(GetParam());
  for (int i = 0; i < 3; ++i) {
    world->placement.touch(world->provider().row.uuid);
    world->pass(5 * kMinuteMs);
  }
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->record().waiting_for, "");
  EXPECT_FALSE(world->record().held);
}

TEST_P(OfCyborg, WhatIsInQuestionAndCannotBeClaimedStaysReservedAndSaysWhy) {
  make(GetParam());
  unseen_while_down();
  world->drive().guarded = true;
  world->pass(kHourMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("it is mounted"));
  world->drive().guarded = false;
  world->pass(kHourMs);
  expect_cleaned_again();
}

// Looked into while it is reserved, then un-reserved by Cyborg's agent, and had by somebody before
// the next survey.
TEST_P(OfCyborg, TheLookOfAClaimTellsNothingOnceItIsUnreserved) {
  for (const std::int64_t ms : {100, 500, 1'000, 1'500, 2'000, 3'000}) {
    make(GetParam());
    world->placement.touch(world->provider().row.uuid);
    world->kick({0});
    for (int i = 0; i < 10'000 && reserved() == 0; ++i) world->pass(1);
    world->pass(ms);
    const std::string uuid = world->provider().row.uuid;
    world->placement.set_reserved_by(Offered::by_cyborg, uuid, 0);
    ASSERT_TRUE(world->placement.allocate(uuid, "quick"));
    write_media(world->drive(), 4711, 1);
    world->placement.deallocate(uuid, "quick");
    world->provider().offered = Offered::left;
    world->pass(kHourMs);
    EXPECT_EQ(world->drive().owner, 0U) << ms << ": " << world->record().waiting_for;
  }
}

INSTANTIATE_TEST_SUITE_P(Managed, OfCyborg, ::testing::Bool());

// It counts from the start, and has come to where our own write would bring it to what it was. Who
// had the former one has loaded firmware and read nothing.
TEST_P(OfCyborg, AProviderThatIsMadeAnewTellsOfNobodyWhoHadItBefore) {
  make(GetParam());
  const std::int64_t former = world->record().rest.generation;
  world->kill_worker();
  ASSERT_TRUE(world->placement.remove(world->provider().row.uuid));
  world->placement.create(world->slots[0].provider_name, false, true);
  while (world->provider().row.generation + 1 < former) {
    world->placement.touch(world->provider().row.uuid);
  }
  world->drive().changed_by = 4711;
  world->drive().version += 1;
  if (GetParam()) world->drive().host_reads += 3;  // the kernel's, when it is given back
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().changed_by, 0U);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(reserved(), 0);
}

// A tenant who reads everything, and writes nothing.
struct ReadersOfCyborg : OfCyborg {
  void reader_comes_and_goes() {
    ASSERT_TRUE(world->placement.allocate(world->provider().row.uuid, "reader"));
    world->drive().host_reads += 1'000'000;
    world->placement.deallocate(world->provider().row.uuid, "reader");
  }
  void read_slowly_with_a_reader_within() {
    world->placement.touch(world->provider().row.uuid);
    world->placement.reads_take_ms = 20'000;
    world->kick({0});
    world->pass(10'000);
    reader_comes_and_goes();
    world->placement.reads_take_ms = 0;
  }
};

TEST_P(ReadersOfCyborg, ATenancyWithoutAWriteIsToldByTheReads) {
  make(GetParam());
  world->kill_worker();
  reader_comes_and_goes();
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(reserved(), 0);
}

// The drive was looked at before he came, and its provider is read after he has gone.
TEST_P(ReadersOfCyborg, OneWithinASlowReadOfTheProviderIsToldByALookAfterIt) {
  make(GetParam());
  read_slowly_with_a_reader_within();
  world->pass(15'000);
  EXPECT_EQ(reserved(), 1) << "by the same survey";
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(reserved(), 0);
}

TEST_P(ReadersOfCyborg, ALookAfterASlowReadThatFailsEndsTheSurveyAndTheNextOneTells) {
  make(GetParam());
  read_slowly_with_a_reader_within();
  world->faults.discover_fails = 1;
  world->pass(15'000);
  EXPECT_THAT(world->log.text, HasSubstr("survey failed why=looking at the host's drives"));
  world->faults.discover_fails = 0;
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(reserved(), 0);
}

TEST_P(ReadersOfCyborg, WhatSuchATenantLockedIsNotOnOffer) {
  make(GetParam());
  world->kill_worker();
  reader_comes_and_goes();
  world->drive().locked = true;
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->record().stage, Stage::error);
}

INSTANTIATE_TEST_SUITE_P(Managed, ReadersOfCyborg, ::testing::Bool());

struct FailedBuild : Unseen, ::testing::WithParamInterface<bool> {
  // Nova's order: allocated, burned by the claim; the build fails, and the allocation goes.
  void build_fails() {
    const std::string uuid = world->provider().row.uuid;
    ASSERT_TRUE(world->placement.allocate(uuid, "instance-of-a-failed-build"));
    world->placement.set_reserved_by(Offered::no, uuid, 1);
    world->pass(1'500);
    world->placement.deallocate(uuid, "instance-of-a-failed-build");
  }
  // Until an operator has it cleaned.
  void expect_waits(const char* says) {
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_EQ(world->erases, 1U);
    EXPECT_THAT(world->record().waiting_for, HasSubstr(says));
    world->command("clean", world->slots[0].address);
    world->pass(kHourMs);
    EXPECT_EQ(world->provider().inventory.reserved, 0);
    EXPECT_EQ(world->erases, 2U);
  }
};

TEST_P(FailedBuild, ThatNoSurveySawIsCleaned) {
  make(GetParam());
  world->pass(3'000);
  build_fails();
  world->pass(kHourMs);
  EXPECT_EQ(world->provider().inventory.reserved, 0) << world->record().waiting_for;
  EXPECT_EQ(world->erases, 2U);
  EXPECT_FALSE(world->record().held);
}

TEST_P(FailedBuild, WaitsForAnOperatorWhereHeWantsItSo) {
  make(GetParam());
  world->conductor_options.failed_builds = FailedBuilds::wait;
  world->kill_worker();
  build_fails();
  world->start_worker();
  world->pass(kHourMs);
  expect_waits("a build that failed, if no operator");
}

// What is written to its provider later does not make a failed build of it.
TEST_P(FailedBuild, AHoldThatWasRecognisedIsNone) {
  make(GetParam());
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  world->pass(5 * kMinuteMs);
  ASSERT_TRUE(world->record().held);
  for (int i = 0; i < 5; ++i) world->placement.touch(world->provider().row.uuid);
  world->kill_worker();
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_TRUE(world->record().held);
  world->kill_worker();
  world->store.lose_everything();
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_TRUE(world->record().held) << "the record was lost, and the hold was not";
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

// While no worker runs, the operator ends his hold, and the next instance's build fails.
TEST_P(FailedBuild, BehindAHoldThatIsOverSaysSo) {
  make(GetParam());
  const std::string uuid = world->provider().row.uuid;
  world->placement.set_reserved_by(Offered::no, uuid, 1);
  world->pass(5 * kMinuteMs);
  ASSERT_TRUE(world->record().held);
  world->kill_worker();
  world->placement.set_reserved_by(Offered::by_operator, uuid, 0);
  build_fails();
  world->start_worker();
  world->pass(kHourMs);
  expect_waits("`reclaim device clean` it");
}

// It may as well be a hold that is older than what Redis has lost.
TEST_P(FailedBuild, OfWhichRedisHasLostTheRecordSaysSo) {
  make(GetParam());
  world->kill_worker();
  world->store.lose_everything();
  build_fails();
  world->start_worker();
  world->pass(kHourMs);
  expect_waits("`reclaim device clean` it");
}

// Redis lost all, and the first look sees no view: two providers stand at the address.
TEST_F(Unseen, ALookThatSeesNoViewForgetsNothingOfTheLedgers) {
  make(false);
  world->kill_worker();
  world->store.lose_everything();
  const std::string former = world->provider().row.uuid;
  ASSERT_TRUE(world->placement.allocate(former, "quick"));
  write_media(world->drive(), 4711, 1);
  world->placement.deallocate(former, "quick");
  world->placement.create(world->slots[0].provider_name, true, false);
  world->start_worker();
  world->pass(5 * kMinuteMs);
  ASSERT_TRUE(world->placement.remove(former));
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().owner, 0U) << world->record().waiting_for;
  EXPECT_EQ(world->erases, 2U);
}

INSTANTIATE_TEST_SUITE_P(Managed, FailedBuild, ::testing::Bool());

// Nova makes the provider anew of a device that was away for a moment, and makes it unreserved.
TEST_P(FailedBuild, AProviderThatIsMadeAnewIsNotTakenForTheOneThatWasCleaned) {
  make(GetParam());
  world->kill_worker();
  world->tenancy_begins();
  world->tenancy_ends();
  world->drive().driver = world->drive().home;
  ASSERT_TRUE(world->placement.remove(world->provider().row.uuid));
  world->placement.create(world->slots[0].provider_name, true, false);
  ASSERT_EQ(world->provider().inventory.reserved, 0);
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

// Two writes: Nova, which burns it, takes three for a tenancy. While nobody burns it one is enough.
struct Unburned : Unseen {
  void becomes(bool one_time_use, bool owner_cyborg) {
    placement::ProviderRow& row = world->provider().row;
    row.one_time_use = one_time_use;
    row.owner_cyborg = owner_cyborg;
    world->slots[0].cyborg = owner_cyborg && !one_time_use;
    world->placement.touch(row.uuid);
  }
  void unseen_tenancy() {
    const std::string uuid = world->provider().row.uuid;
    ASSERT_TRUE(world->placement.allocate(uuid, "quick"));
    write_media(world->drive(), 4711, 1);
    world->placement.deallocate(uuid, "quick");
  }
  // Between two surveys, and then they are as they were.
  void expect_seen_while(bool one_time_use, bool owner_cyborg) {
    make(false);
    becomes(one_time_use, owner_cyborg);
    world->pass(5 * kMinuteMs);
    unseen_tenancy();
    world->pass(5 * kMinuteMs);
    becomes(true, false);
    expect_cleaned();
  }
  void expect_cleaned() {
    world->pass(kHourMs);
    EXPECT_EQ(world->drive().owner, 0U) << world->record().waiting_for;
    EXPECT_EQ(world->provider().inventory.reserved, 0);
  }
};

TEST_F(Unburned, WhileItsEntryDoesNotSayOneTimeUse) {
  expect_seen_while(false, false);
}

TEST_F(Unburned, WhileCyborgCallsItItsOwnToo) {
  expect_seen_while(true, true);
}

TEST_F(Unburned, BehindItsChangeFromCyborgToNova) {
  make(false);
  becomes(false, true);
  world->pass(kHourMs);
  world->kill_worker();
  unseen_tenancy();
  becomes(true, false);
  world->start_worker();
  expect_cleaned();
}

}  // namespace
}  // namespace reclaim::sim
