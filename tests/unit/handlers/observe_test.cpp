// [reclaim] mode = observe: what is decided is recorded and told, and nothing is written to a drive
// or to Placement, whatever happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/observed.h"
#include "nvme/observed_drives.h"
#include "placement/observed_providers.h"
#include "tests/sim/world.h"
#include "tests/test_seed.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

// Counts what a worker that observes must not do.
void watch_writes(World& world, int& writes) {
  world.placement.on_asked = [&writes](const placement::ProviderView& /*view*/) { writes += 1; };
}

struct Observe : ::testing::Test {
  void begin(bool cyborg = false) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    world.emplace(options);
    world->conductor_options.mode = Mode::observe;
    watch_writes(*world, writes);
    world->start_worker();
    world->pass(kMinuteMs);
  }
  void TearDown() override {
    EXPECT_EQ(writes, 0);
    EXPECT_EQ(world->erases, 0U);
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  void unreserve() {
    world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  }

  std::optional<World> world;
  int writes = 0;
};

TEST_F(Observe, ADirtyDriveWouldBeCleanedAndIsLeftAsItIs) {
  begin();
  world->tenancy_begins();
  look();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  world->tenancy_ends();
  look();
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("mode = observe: would clean it now: "));
  EXPECT_EQ(reserved(), 1);
  EXPECT_NE(world->drive().owner, 0);
}

TEST_F(Observe, WhatIsOfferedDirtyWouldBeReservedAndIsRecordedOnce) {
  begin();
  world->tenancy_begins();
  look();
  world->tenancy_ends();
  look();
  unreserve();  // the operator's script, which cleans by itself
  look();
  const std::uint64_t epoch = world->record().epoch;
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("mode = observe: would reserve it"));
  EXPECT_LE(world->record().epoch, epoch + 1);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(Observe, OrdersAreRefusedButMaintenance) {
  begin();
  std::string refusals;
  world->command("clean", world->slots.front().address);
  world->pass(kMinuteMs);
  EXPECT_THAT(world->log.text, HasSubstr("this worker only observes: set [reclaim] mode = serve"));
  world->command("maintenance_on", world->slots.front().address);
  world->pass(kMinuteMs);
  EXPECT_TRUE(world->record().maintenance);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("would reserve it, which is in maintenance"));
  EXPECT_EQ(reserved(), 0);
}

TEST_F(Observe, ThenItServesAndCleansWhatWasSeenDirty) {
  begin();
  world->tenancy_begins();
  look();
  world->tenancy_ends();
  look();
  EXPECT_EQ(writes, 0);
  world->kill_worker();
  world->conductor_options.mode = Mode::serve;
  world->start_worker();
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->drive().owner, 0);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->failure.value_or(""), "");
  writes = 0;
  world->erases = 0;
}

// What serve left in the middle is not gone on with.
TEST_F(Observe, AnInterruptedCleaningOfServeIsLeftToTheNextServe) {
  begin();
  world->kill_worker();
  world->conductor_options.mode = Mode::serve;
  world->start_worker();
  world->pass(kMinuteMs);
  world->tenancy_begins();
  look();
  world->tenancy_ends();
  world->kick({0});
  for (int i = 0; i < 1'000 && world->record().stage != Stage::erasing; ++i) world->pass(100);
  ASSERT_EQ(world->record().stage, Stage::erasing);
  world->kill_worker();
  writes = 0;
  world->conductor_options.mode = Mode::observe;
  world->start_worker();
  world->pass(30 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(reserved(), 1);
  world->erases = 0;
}

// Worlds with faults, crashes, operators and Cyborg, which nobody has seen before.
TEST(ObservedWorlds, NothingIsEverWritten) {
  constexpr std::uint64_t kKindsApart = 1'000'000'000'000'000ULL;
  const std::uint64_t base = 1'000'000'000ULL + test_seed() % 1'000'000'000'000ULL;
  for (std::uint64_t kind = 0; kind < 6; ++kind) {
    for (std::uint64_t i = 0; i < 12; ++i) {
      WorldOptions options;
      options.seed = base + kind * kKindsApart + i;
      World world(options);
      const auto failure = world.run_observed();
      ASSERT_EQ(failure.value_or(""), "") << "seed " << options.seed;
    }
  }
}

// -------------------------------------------------------------------------------------------------
// The second line: what is forgotten above is refused by what stands before Placement and drives.

TEST(ObservedSeams, WritesAreRefusedAndReadsPass) {
  WorldOptions options;
  options.scripted = true;
  World world(options);
  placement::ObservedProviders providers(world.placement);
  int asked = 0;
  world.placement.on_asked = [&asked](const placement::ProviderView& /*view*/) { asked += 1; };
  placement::ProviderView view;
  view.uuid = world.provider().row.uuid;
  std::string why;
  bool read = false;
  providers.set_reserved(view, 0, [&](const Result<placement::ProviderView>& done) {
    why = done ? "written" : done.error().what;
  });
  providers.read(view.uuid, [&](const Result<placement::ProviderView>& done) { read = done.ok(); });
  world.pass(kMinuteMs);
  EXPECT_THAT(why, HasSubstr("mode = observe"));
  EXPECT_TRUE(read);
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace reclaim::sim
