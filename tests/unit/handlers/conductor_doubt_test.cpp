// What an earlier worker, another writer of Redis or a service that is away leaves behind: in doubt
// a device stays reserved. Told step by step in a scripted world, as in conductor_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "handlers/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kLongMs = 60 * kMinuteMs;

WorldOptions scripted(bool cyborg) {
  WorldOptions options;
  options.scripted = true;
  options.cyborg = cyborg;
  return options;
}

struct Doubt : ::testing::Test {
  explicit Doubt(bool cyborg = false) : world(scripted(cyborg)) {}
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

// -------------------------------------------------------------------------------------------------
// Releases that come late.

// The worker dies before its PUT is made, and Redis forgets that it ever came that far.
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
  void clean() {
    if (GetParam() == InterruptedCleaning::error) world.command("clean", world.slots[0].address);
    world.pass(kLongMs);
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

// What the survey saw is seen by no other: the device is reserved by then.
TEST_P(OnOfferMeanwhile, IsErasedFromTheBeginningThoughOnlyItsReservationOutlivedTheWorker) {
  offered_and_used_while_no_worker_runs();
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
  clean();
  EXPECT_EQ(world.record().stage, Stage::available);
  EXPECT_EQ(world.drive().owner, 0U);
}

INSTANTIATE_TEST_SUITE_P(Policies, OnOfferMeanwhile,
                         ::testing::Values(InterruptedCleaning::error,
                                           InterruptedCleaning::resume));

}  // namespace
}  // namespace reclaim::sim
