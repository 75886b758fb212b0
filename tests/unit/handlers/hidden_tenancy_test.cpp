// What an adversary tried who wanted to have a device without a word: while Placement or Redis was
// away, behind a look, after a record was lost, and by a second unit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kHidden = 4711;

struct Kind {
  bool cyborg;
  bool managed;
};

struct Hidden : ::testing::TestWithParam<Kind> {
  void make() {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = GetParam().cyborg;
    options.cyborg_api = false;
    world.emplace(options);
    world->slots[0].managed = GetParam().managed;
    if (!GetParam().managed) world->drive().home = world->drive().driver = "vfio-pci";
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    look();
    world->tenancy_ends();
    world->drive().driver = world->drive().home;
    look();
    world->pass(kHourMs);
    ASSERT_EQ(world->record().stage, Stage::available);
    ASSERT_EQ(reserved(), 0);
    world->disk.audit.clear();
    erases = world->erases;
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void maintenance(const char* order) { world->command(order, world->slots[0].address); }
  [[nodiscard]] std::string uuid() { return world->provider().row.uuid; }
  [[nodiscard]] std::int64_t reserved() { return world->provider().inventory.reserved; }
  void unreserve() { world->placement.set_reserved_by(Offered::by_operator, uuid(), 0); }
  void reserve() { world->placement.set_reserved_by(Offered::no, uuid(), 1); }
  // As Nova burns what it gives away, and today's Cyborg does not.
  void burn() {
    if (!GetParam().cyborg) reserve();
  }
  [[nodiscard]] std::ptrdiff_t told(AuditEvent event) const {
    return std::count_if(world->disk.audit.begin(), world->disk.audit.end(),
                         [event](const AuditEntry& entry) { return entry.event == event; });
  }

  std::optional<World> world;
  std::uint64_t erases = 0;
};

struct HiddenUnmanaged : Hidden {};

// A claim reads the counters; then somebody un-reserves the drive, has it, and it is burned again,
// all before a survey hears of it.
TEST_P(HiddenUnmanaged, BehindTheLookOfAClaimWhilePlacementIsAway) {
  for (const std::int64_t ms : {0, 100, 300, 500, 700, 1'000, 1'500, 2'000}) {
    make();
    maintenance("maintenance_on");
    world->pass(2 * kMinuteMs);
    maintenance("maintenance_off");
    world->pass(ms);
    if (reserved() == 0) break;
    world->placement.set_away(true);
    world->pass(5 * kMinuteMs);
    unreserve();
    ASSERT_TRUE(world->placement.allocate(uuid(), "hidden"));
    reserve();
    write_media(world->drive(), kHidden, 1);
    world->pass(5 * kMinuteMs);
    world->placement.deallocate(uuid(), "hidden");
    world->placement.set_away(false);
    world->pass(kHourMs);
    EXPECT_EQ(world->failure.value_or(""), "") << ms;
    EXPECT_EQ(world->drive().owner, 0U) << ms;
  }
}

// Orders are being saved, so that what a survey finds cannot be recorded.
TEST_P(HiddenUnmanaged, WhileItsRecordCannotBeWritten) {
  make();
  world->store.set_away(true);
  world->pass(1'000);
  maintenance("maintenance_off");
  world->pass(1'000);
  ASSERT_TRUE(world->placement.allocate(uuid(), "hidden"));
  burn();
  write_media(world->drive(), kHidden, 1);
  world->placement.deallocate(uuid(), "hidden");
  if (!GetParam().cyborg) unreserve();
  world->provider().offered = Offered::left;
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(reserved(), 1);
  world->store.set_away(false);
  world->pass(kHourMs);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->failure.value_or(""), "");
}

INSTANTIATE_TEST_SUITE_P(Flows, HiddenUnmanaged,
                         ::testing::Values(Kind{false, false}, Kind{true, false}));

struct HiddenOfNova : Hidden {};

// Its record is lost, and the ledger has the generation at which it rested.
TEST_P(HiddenOfNova, InMaintenanceByAHandWhileNoWorkerRuns) {
  make();
  maintenance("maintenance_on");
  world->pass(2 * kMinuteMs);
  world->kill_worker();
  world->store.lose_everything();
  unreserve();
  ASSERT_TRUE(world->placement.allocate(uuid(), "hidden"));
  reserve();
  world->drive().changed_by = kHidden;
  world->drive().version += 1;
  world->drive().host_reads += 1'000'000;
  world->placement.deallocate(uuid(), "hidden");
  world->start_worker();
  world->pass(5 * kMinuteMs);
  maintenance("maintenance_off");
  world->pass(kHourMs);
  EXPECT_EQ(world->failure.value_or(""), "");
  EXPECT_EQ(world->drive().changed_by, 0U);
  EXPECT_EQ(world->erases, erases + 1);
}

INSTANTIATE_TEST_SUITE_P(Unmanaged, HiddenOfNova, ::testing::Values(Kind{false, false}));

TEST_P(Hidden, ByASecondUnitIsToldOfByName) {
  make();
  world->drive().guarded = true;
  ASSERT_TRUE(world->placement.allocate(uuid(), "first"));
  burn();
  look();
  write_media(world->drive(), kHidden, 1);
  world->placement.deallocate(uuid(), "first");
  look();
  world->provider().inventory.total = 2;
  world->placement.touch(uuid());
  world->provider().consumers.emplace_back("second");
  world->placement.touch(uuid());
  world->pass(6 * kHourMs);
  EXPECT_THAT(world->log.text, HasSubstr("with total = 2: a passthrough device has exactly one, "
                                         "with total = 1; second has it"));
  EXPECT_LE(told(AuditEvent::reserved_again), 2);
  EXPECT_LE(told(AuditEvent::released_elsewhere), 2);
}

TEST_P(Hidden, NotFromAnObserverWhoTellsOfItOnce) {
  make();
  world->kill_worker();
  world->conductor_options.mode = Mode::observe;
  world->start_worker();
  ASSERT_TRUE(world->placement.allocate(uuid(), "long"));
  burn();
  world->pass(6 * kHourMs);
  EXPECT_LE(told(AuditEvent::reserved_again), 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Hidden,
                         ::testing::Values(Kind{false, true}, Kind{false, false}, Kind{true, true},
                                           Kind{true, false}));

}  // namespace
}  // namespace reclaim::sim
