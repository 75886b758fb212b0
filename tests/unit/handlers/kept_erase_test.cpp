// A drive that was erased and verified, and that could not be given back then: it is not erased
// again, unless anything at all may have happened to it meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOfAnotherNode = "node-1.example_0000:C1:00.0";

// A host whose drives are taken, with whatever happens to the first of them once its verification
// has begun.
struct KeptErase : ::testing::Test {
  void begin(bool cyborg, int slots = 1) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    options.scripted_slots = slots;
    world.emplace(options);
    world->conductor_options.cleanings_max = 1;
    world->conductor_options.interrupted_cleaning = InterruptedCleaning::resume;
    world->start_worker();
    world->pass(kMinuteMs);
    for (std::size_t i = 0; i < world->slots.size(); ++i) world->tenancy_begins(i);
    look();
  }
  void at_its_verification(std::function<void()> what) {
    world->store.on_saved = [this, what = std::move(what), checks = world->store.on_saved,
                             done = false](const Record& record,
                                           const JournalEntry& entry) mutable {
      checks(record, entry);
      const bool first = record.address == world->slots.front().address;
      if (!first || record.stage != Stage::verifying || std::exchange(done, true)) return;
      what();
    };
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void clean() {
    world->tenancy_ends();
    look();
  }
  // Withheld, and nothing done to it.
  void expect_kept(const char* why) {
    EXPECT_EQ(world->record().stage, Stage::looking);
    EXPECT_THAT(world->record().waiting_for, HasSubstr("erased and verified, and kept so"));
    EXPECT_THAT(world->record().waiting_for, HasSubstr(why));
    EXPECT_EQ(world->releases, 0U);
    EXPECT_EQ(world->erases, 1U);
  }
  void expect_given_back(std::uint64_t erases) {
    EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
    EXPECT_EQ(world->provider().inventory.reserved, 0);
    EXPECT_EQ(world->record().waiting_for, "");
    EXPECT_EQ(world->releases, 1U);
    EXPECT_EQ(world->erases, erases);
    EXPECT_EQ(world->disk.certificates.size(), 1U);
  }
  void set_status(const char* status) {
    world->cyborg.device(world->slots.front().address).status = status;
  }
  void keep_maintaining() {
    begin(true);
    at_its_verification([this] { set_status("maintaining"); });
    clean();
    expect_kept("Cyborg's status of it is maintaining");
  }
  void take_provider_away() { EXPECT_TRUE(world->placement.remove(world->provider().row.uuid)); }
  void keep_without_provider(bool cyborg) {
    begin(cyborg);
    at_its_verification([this] { take_provider_away(); });
    clean();
    expect_kept("its provider is gone from Placement");
  }
  void make_provider_anew(bool cyborgs) {
    world->placement.create(world->slots.front().provider_name, !cyborgs, cyborgs);
  }
  void TearDown() override {
    if (world) {
      EXPECT_EQ(world->failure.value_or(""), "");
    }
  }

  std::optional<World> world;
};

TEST_F(KeptErase, MaintenanceOfHoursRepeatsNoErase) {
  keep_maintaining();
  world->pass(4 * kHalfHourMs);
  expect_kept("Cyborg's status of it is maintaining");
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  set_status("enabled");
  world->pass(kMinuteMs);
  expect_given_back(1);
}

// As Cyborg's own enable does it.
TEST_F(KeptErase, WhatCyborgUnreservesWithinIsReservedAndGivenBackByUs) {
  keep_maintaining();
  world->placement.set_reserved_by(Offered::by_nova, world->provider().row.uuid, 0);
  world->pass(3'000);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  set_status("enabled");
  world->pass(kMinuteMs);
  expect_given_back(1);
}

TEST_F(KeptErase, AProviderMadeAgainByNovaRepeatsNoErase) {
  keep_without_provider(false);
  make_provider_anew(false);
  world->pass(kMinuteMs);
  expect_given_back(1);
  EXPECT_EQ(world->record().provider, world->provider().row.uuid);
}

TEST_F(KeptErase, AProviderMadeAgainByCyborgRepeatsNoErase) {
  keep_without_provider(true);
  world->pass(kMinuteMs);
  make_provider_anew(true);
  world->pass(kMinuteMs);
  expect_given_back(1);
}

TEST_F(KeptErase, AProviderThatIsTakenAwayAtTheReleaseRepeatsNoErase) {
  begin(false);
  world->placement.on_release_asked = [this, checks = world->placement.on_release_asked,
                                       done = false](const placement::ProviderView& view) mutable {
    checks(view);
    if (!std::exchange(done, true)) take_provider_away();
  };
  clean();
  EXPECT_EQ(world->record().stage, Stage::looking);
  make_provider_anew(false);
  world->pass(kMinuteMs);
  expect_given_back(1);
}

TEST_F(KeptErase, AProviderThatStaysAwayIsNotWaitedForWithTheDriveClaimed) {
  keep_without_provider(false);
  world->pass(kHalfHourMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_FALSE(world->drives->claimed(world->slots.front().address));
  make_provider_anew(false);
  world->pass(kHalfHourMs);
  expect_given_back(2);
}

TEST_F(KeptErase, AProviderOfAnotherOwnerIsNotItsOwn) {
  keep_without_provider(true);
  make_provider_anew(false);
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->releases, 0U);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

TEST_F(KeptErase, AProviderOfAnotherClassStartsItOver) {
  keep_without_provider(false);
  make_provider_anew(false);
  world->provider().inventory.resource_class = "CUSTOM_OTHER";
  world->pass(kMinuteMs);
  expect_given_back(2);
  EXPECT_EQ(world->record().resource_class, "CUSTOM_OTHER");
}

TEST_F(KeptErase, AProviderThatTwoOwnersClaimIsNotItsOwn) {
  for (const bool cyborg : {false, true}) {
    keep_without_provider(cyborg);
    world->placement.create(world->slots.front().provider_name, true, true);
    world->pass(5 * kMinuteMs);
    // Cyborg gives its provider the UUID that it had.
    expect_kept(cyborg ? "its provider's traits do not name its owner"
                       : "its provider is gone from Placement");
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_EQ(world->failure.value_or(""), "");
  }
}

TEST_F(KeptErase, OfTwoProvidersOfItsAddressNeitherIsItsOwn) {
  keep_without_provider(false);
  make_provider_anew(false);
  const std::string second = world->placement.create(kOfAnotherNode, true).row.uuid;
  world->pass(5 * kMinuteMs);
  expect_kept("its provider is gone from Placement");
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->placement.find(second)->inventory.reserved, 1);
  EXPECT_TRUE(world->placement.remove(second));
  world->pass(kMinuteMs);
  expect_given_back(1);
}

TEST_F(KeptErase, AWriteEndsIt) {
  keep_maintaining();
  write_media(world->drive(), 77, 77);
  set_status("enabled");
  world->pass(kHalfHourMs);
  expect_given_back(2);
  EXPECT_EQ(world->drive().owner, 0U);
}

TEST_F(KeptErase, ALostClaimEndsIt) {
  keep_maintaining();
  world->drives->breaks(world->slots.front().address);
  set_status("enabled");
  world->pass(kHalfHourMs);
  expect_given_back(2);
}

TEST_F(KeptErase, ACrashEndsIt) {
  keep_maintaining();
  world->kill_worker();
  world->start_worker();
  set_status("enabled");
  world->pass(kHalfHourMs);
  expect_given_back(2);
}

// No writer of today's does that: the ledger is asked all the same.
TEST_F(KeptErase, NewerDirtOnTheLedgerEndsIt) {
  begin(true);
  at_its_verification([this] {
    set_status("maintaining");
    const PciAddress address = world->slots.front().address;
    LedgerEntry entry = world->ledger->entries().at(address);
    entry.dirty_since = WallMs{world->scheduler.now().wall.ms + kHalfHourMs};
    world->ledger->put(address, entry, [](const Status&) {});
  });
  clean();
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
}

TEST_F(KeptErase, ATenantWhoGotItMeanwhileEndsIt) {
  keep_without_provider(false);
  make_provider_anew(false);
  world->tenancy_begins();
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  clean();
  world->pass(kHalfHourMs);
  expect_given_back(2);
}

TEST_F(KeptErase, ADriveThatWaitsForItsPlaceGetsIt) {
  begin(true, 2);
  at_its_verification([this] { set_status("maintaining"); });
  clean();
  expect_kept("maintaining");
  world->tenancy_ends(1);
  look();
  world->pass(kHalfHourMs);
  EXPECT_EQ(world->record(1).stage, Stage::available);
  EXPECT_EQ(world->record(0).stage, Stage::pending_cleaning);
}

TEST_F(KeptErase, AnOperatorsMaintenanceEndsIt) {
  keep_maintaining();
  world->command("maintenance_on", world->slots.front().address);
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_TRUE(world->record().maintenance);
  EXPECT_FALSE(world->drives->claimed(world->slots.front().address));
}

TEST_F(KeptErase, AnOperatorAbortsIt) {
  keep_maintaining();
  world->command("abort", world->slots.front().address);
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_FALSE(world->drives->claimed(world->slots.front().address));
}

}  // namespace
}  // namespace reclaim::sim
