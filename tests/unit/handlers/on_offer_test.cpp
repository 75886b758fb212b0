// A drive that is known to be dirty and that somebody offers all the same: it is reserved, by every
// provider that stands for it, within seconds; and whoever got it meanwhile is an alarm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "state/base/fields.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kWithinMs = 3'000;
constexpr const char* kOfTheMiddle = "instance-of-the-middle";

// A host whose drives their tenants have left dirty and that something of the host keeps from being
// cleaned. No periodic survey comes to help.
struct OnOffer : ::testing::Test {
  void begin(int slots = 1) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.scripted_slots = slots;
    options.cyborg = cyborg;
    world.emplace(options);
    world->conductor_options.survey_interval_ms = 24 * 60 * kMinuteMs;
    world->conductor_options.watch_ms = watch_ms;
    world->start_worker();
    world->pass(kMinuteMs);
    for (std::size_t i = 0; i < world->slots.size(); ++i) world->tenancy_begins(i);
    look();
  }
  void leave_dirty(int slots = 1) {
    begin(slots);
    for (std::size_t i = 0; i < world->slots.size(); ++i) {
      world->drive(i).guarded = true;
      world->tenancy_ends(i);
    }
    look();
    world->pass(10 * kMinuteMs);
    ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
    world->log.text.clear();
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void TearDown() override {
    if (world) {
      EXPECT_EQ(world->failure.value_or(""), "");
    }
  }
  void unreserve() {
    world->placement.set_reserved_by(Offered::by_nova, world->provider().row.uuid, 0);
  }
  // An instance gets it in the middle of its erase.
  void lose_in_mid_erase() {
    begin();
    world->drive().sanitize_ms = kHourMs;
    world->tenancy_ends();
    look();
    ASSERT_EQ(world->record().stage, Stage::erasing);
    world->log.text.clear();
    unreserve();
    ASSERT_TRUE(world->placement.allocate(world->provider().row.uuid, kOfTheMiddle));
  }
  void lose_in_mid_erase_burned() {
    lose_in_mid_erase();
    world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  Provider& second_provider() {
    return world->placement.create("node-1.example_0000:C1:00.0", true);
  }
  void expect_alarm() {
    EXPECT_THAT(world->record().last_error,
                HasSubstr("a tenant has got a drive that is not known"));
    EXPECT_THAT(world->log.text, HasSubstr("ERROR"));
  }

  std::optional<World> world;
  std::int64_t watch_ms = 2'000;
  bool cyborg = false;
};

// Its device was away for a moment, and its tenant is gone when Nova makes its provider anew.
TEST_F(OnOffer, WhatATenantHadWhenItsProviderVanishedIsReservedWithinSeconds) {
  begin();
  ASSERT_EQ(world->record().stage, Stage::allocated);
  world->tenancy_ends();
  ASSERT_TRUE(world->placement.remove(world->provider().row.uuid));
  look();
  ASSERT_EQ(world->record().stage, Stage::allocated) << "nothing says that its tenant is gone";
  world->placement.create(world->slots.front().provider_name, true);
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_EQ(reserved(), 0);
}

// -------------------------------------------------------------------------------------------------
// Given away.

TEST_F(OnOffer, AKnownDirtyDriveThatNovaGivesToATenantIsAnAlarm) {
  leave_dirty();
  std::string journal;
  const auto checks = world->store.on_saved;
  world->store.on_saved = [&](const Record& record, const JournalEntry& entry) {
    checks(record, entry);
    journal += entry.detail + "\n";
  };
  world->drive().guarded = false;
  unreserve();
  world->tenancy_begins();
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  expect_alarm();
  EXPECT_THAT(journal, HasSubstr("although it is pending_cleaning"));
}

TEST_F(OnOffer, SoIsOneThatOnlyTheLedgerKnowsToBeDirty) {
  leave_dirty();
  world->kill_worker();
  world->store.lose_everything();
  unreserve();
  world->tenancy_begins();
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::allocated);
  expect_alarm();
}

TEST_F(OnOffer, SoIsOneInError) {
  leave_dirty();
  world->command("abort", world->slots.front().address);
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::error);
  unreserve();
  world->tenancy_begins();
  look();
  EXPECT_EQ(world->record().stage, Stage::error);
  expect_alarm();
}

TEST_F(OnOffer, ACleanDriveThatIsGivenToATenantIsNone) {
  begin();
  world->tenancy_ends();
  world->drive().driver = "nvme";
  look();
  ASSERT_EQ(world->releases, 1U);
  world->log.text.clear();
  world->tenancy_begins();
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->record().last_error, "");
  EXPECT_THAT(world->log.text, ::testing::Not(HasSubstr("ERROR")));
}

// What still works on it stops with the first look, and not with the next survey.
TEST_F(OnOffer, SoIsOneThatAnInstanceGetsInTheMiddleOfItsErase) {
  lose_in_mid_erase();
  world->pass(kWithinMs);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_EQ(world->record().instance, kOfTheMiddle);
  EXPECT_EQ(reserved(), 1);
  expect_alarm();
  world->pass(kMinuteMs);
  EXPECT_FALSE(world->drives->claimed(world->slots.front().address));
}

// Nova burns what it takes, and what one look of the close watch finds is reserved as before.
TEST_F(OnOffer, SoIsOneThatAnInstanceGetsAndNovaBurnsBetweenTwoLooks) {
  lose_in_mid_erase_burned();
  world->pass(kWithinMs);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_EQ(world->record().instance, kOfTheMiddle);
  expect_alarm();
}

TEST_F(OnOffer, ThoughPlacementDoesNotAnswerTheFirstReadOfIt) {
  lose_in_mid_erase_burned();
  world->faults.placement_odd = 1;
  world->pass(6'000);
  world->faults.placement_odd = 0;
  world->pass(10 * kWithinMs);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_EQ(world->record().instance, kOfTheMiddle);
}

// -------------------------------------------------------------------------------------------------
// Several providers.

TEST_F(OnOffer, EveryProviderOfADirtyDriveIsReserved) {
  watch_ms = 24 * 60 * kMinuteMs;  // by its survey alone
  leave_dirty();
  const std::string uuid = second_provider().row.uuid;
  unreserve();
  look();
  EXPECT_EQ(world->placement.find(uuid)->inventory.reserved, 1);
  EXPECT_EQ(reserved(), 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("2 providers have this address"));
}

TEST_F(OnOffer, ATenantByASecondProviderIsAnAlarm) {
  leave_dirty();
  Provider& second = second_provider();
  ASSERT_TRUE(world->placement.allocate(second.row.uuid, "instance-by-the-second"));
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->record().instance, "instance-by-the-second");
  expect_alarm();
}

TEST_F(OnOffer, WhatATenantLeftIsReservedByEveryProvider) {
  begin();
  ASSERT_EQ(world->record().stage, Stage::allocated);
  world->tenancy_ends();
  unreserve();
  const std::string uuid = second_provider().row.uuid;
  look();
  ASSERT_EQ(world->record().stage, Stage::allocated) << "which provider counts nobody knows";
  EXPECT_EQ(world->placement.find(uuid)->inventory.reserved, 1);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(OnOffer, WhatATenantHasIsNotOnOfferByASecondProvider) {
  begin();
  const std::string uuid = second_provider().row.uuid;
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->placement.find(uuid)->inventory.reserved, 1);
  EXPECT_EQ(world->record().last_error, "");
}

TEST_F(OnOffer, ASecondProviderOfACleanDriveIsLeftAlone) {
  begin();
  world->tenancy_ends();
  world->drive().driver = "nvme";
  look();
  ASSERT_EQ(world->releases, 1U);
  const std::string uuid = second_provider().row.uuid;
  look();
  EXPECT_EQ(world->placement.find(uuid)->inventory.reserved, 0);
  EXPECT_EQ(reserved(), 0);
}

// By whichever of them: the other is reserved as long as he has it, and what he leaves is cleaned.
struct BesideASecond : OnOffer, ::testing::WithParamInterface<std::tuple<bool, bool>> {};

TEST_P(BesideASecond, ATenantOfACleanDriveIsSeen) {
  const auto [of_cyborg, by_the_second] = GetParam();
  cyborg = of_cyborg;
  begin();
  world->tenancy_ends();
  world->drive().driver = "nvme";
  look();
  world->pass(kHourMs);
  ASSERT_EQ(world->record().stage, Stage::available);
  const std::string own = world->provider().row.uuid;
  const std::string second = second_provider().row.uuid;
  world->pass(kMinuteMs);
  const std::string& his = by_the_second ? second : own;
  const std::string& other = by_the_second ? own : second;
  ASSERT_TRUE(world->placement.allocate(his, "instance-beside"));
  world->placement.set_reserved_by(Offered::no, his, 1);
  world->drive().guest = 4711;
  write_media(world->drive(), 4711, 1);
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->record().instance, "instance-beside");
  EXPECT_EQ(world->placement.find(other)->inventory.reserved, 1);
  world->drive().guest = 0;
  world->placement.deallocate(his, "instance-beside");
  look();
  ASSERT_TRUE(world->placement.remove(second));
  look();
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_EQ(world->record().stage, Stage::available);
}

INSTANTIATE_TEST_SUITE_P(Ways, BesideASecond,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()));

// -------------------------------------------------------------------------------------------------
// The close watch.

TEST_F(OnOffer, WhatWaitsIsReservedAgainWithinSeconds) {
  leave_dirty();
  unreserve();
  world->log.text.clear();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
  const WallMs since = world->disk.entries[world->slots.front().address].dirty_since;
  EXPECT_THAT(world->log.text,
              HasSubstr("ERROR reclaim.conductor " + to_string(world->slots.front().address) +
                        " is on offer, and dirty since " + field::time_text(since)));
}

TEST_F(OnOffer, WhatIsInErrorToo) {
  leave_dirty();
  world->command("abort", world->slots.front().address);
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::error);
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(OnOffer, WhatIsBeingCleanedToo) {
  begin();
  world->drive().sanitize_ms = 10 * kMinuteMs;
  world->tenancy_ends();
  world->drive().driver = "nvme";
  look();
  ASSERT_EQ(world->record().stage, Stage::erasing);
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
  world->pass(20 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U) << "and is given back when it is clean";
}

TEST_F(OnOffer, WhoseProviderWasMadeAnewToo) {
  leave_dirty();
  const std::string name = world->provider().row.name;
  ASSERT_TRUE(world->placement.remove(world->provider().row.uuid));
  world->pass(10 * kMinuteMs);
  world->placement.create(name, true);
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

// What Cyborg 17 was seen to write, of a device that is dirty.
struct OnOfferOfCyborg : OnOffer {
  OnOfferOfCyborg() { cyborg = true; }
};

TEST_F(OnOfferOfCyborg, AfterItsEnable) {
  leave_dirty();
  world->provider().inventory.max_unit = 2'147'483'647;
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(OnOfferOfCyborg, AfterItsRcChanged) {
  leave_dirty();
  world->provider().inventory.resource_class = "CUSTOM_SSD";
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
  EXPECT_EQ(world->provider().inventory.resource_class, "CUSTOM_SSD");
}

// The same UUID, a generation that begins again, and its traits a moment later.
TEST_F(OnOfferOfCyborg, AfterItsProviderWasMadeAnew) {
  leave_dirty();
  const std::string uuid = world->provider().row.uuid;
  const std::string name = world->provider().row.name;
  ASSERT_TRUE(world->placement.remove(uuid));
  world->pass(500);
  Provider& again = world->placement.create(name, false, true);
  ASSERT_EQ(again.row.uuid, uuid);
  again.row.owner_cyborg = false;
  world->scheduler.outside(100, [&again] { again.row.owner_cyborg = true; });
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(OnOffer, WhoseRecordCannotBeReadToo) {
  leave_dirty();
  world->kill_worker();
  world->store.damage(world->slots.front().address);
  world->start_worker();
  world->pass(kMinuteMs);
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(OnOffer, EachOfManyIsReservedAgainWithinSeconds) {
  leave_dirty(8);
  for (std::size_t i = 0; i < world->slots.size(); ++i) {
    world->placement.set_reserved_by(Offered::by_nova, world->provider(i).row.uuid, 0);
  }
  world->pass(kWithinMs);
  for (std::size_t i = 0; i < world->slots.size(); ++i) {
    EXPECT_EQ(world->provider(i).inventory.reserved, 1) << i;
  }
}

// A minute of it, and none for what is clean or taken: one request an interval, however many
// devices; one at a time.
TEST_F(OnOffer, TheWatchIsBounded) {
  leave_dirty(8);
  const int before = world->placement.requests().watch;
  world->pass(kMinuteMs);
  EXPECT_LE(world->placement.requests().watch - before, 31);
  EXPECT_GE(world->placement.requests().watch - before, 25);
  EXPECT_EQ(world->placement.requests().watching_at_most, 1);
}

// Each is read once more, and that it was un-reserved meanwhile is seen.
TEST_F(OnOffer, WhatIsWrittenOtherwiseIsReadOnce) {
  leave_dirty(8);
  const int before = world->placement.requests().watch;
  for (std::size_t i = 0; i < world->slots.size(); ++i) {
    world->placement.touch(world->provider(i).row.uuid);
  }
  world->pass(kMinuteMs);
  EXPECT_LE(world->placement.requests().watch - before, 31 + 8);
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

// Its provider may be made again at the generation that it had.
TEST_F(OnOfferOfCyborg, EachIsReadInEachInterval) {
  leave_dirty(8);
  const int before = world->placement.requests().watch;
  world->pass(kMinuteMs);
  EXPECT_LE(world->placement.requests().watch - before, 8 * 31);
  EXPECT_GE(world->placement.requests().watch - before, 8 * 25);
  EXPECT_EQ(world->placement.requests().watching_at_most, 1);
}

// What could not be reserved is watched, though nobody writes it any more, and tried again.
TEST_F(OnOffer, WhatCouldNotBeReservedIsNotForgotten) {
  leave_dirty();
  world->faults.placement_conflict = 1;
  unreserve();
  const int before = world->placement.requests().read;
  world->pass(kMinuteMs);
  EXPECT_EQ(reserved(), 0);
  EXPECT_GE(world->placement.requests().read - before, 50) << "it is not read in each interval";
  world->faults.placement_conflict = 0;
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

TEST_F(OnOffer, WhatIsCleanOrTakenIsNotWatched) {
  begin();
  EXPECT_EQ(world->placement.requests().watch, 0);
  world->tenancy_ends();
  world->drive().driver = "nvme";
  look();
  ASSERT_EQ(world->releases, 1U);
  const int before = world->placement.requests().watch;
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->placement.requests().watch, before);
}

TEST_F(OnOffer, WherePlacementDoesNotAnswerItIsAskedLessAndLessOften) {
  leave_dirty();
  world->placement.set_away(true);
  const int before = world->placement.requests().watch;
  world->pass(10 * kMinuteMs);
  EXPECT_LE(world->placement.requests().watch - before, 25);
  world->placement.set_away(false);
  world->pass(kMinuteMs);
  unreserve();
  world->pass(kWithinMs);
  EXPECT_EQ(reserved(), 1);
}

}  // namespace
}  // namespace reclaim::sim
