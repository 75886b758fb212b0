// A drive that goes from one tenant to the next and that nobody erased in between, beside the move
// of one tenant, which looks alike: what journal, metric, audit and certificate say of the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "state/ledger/audit.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAlarm = "a tenant has got a drive that is not known to be clean";
constexpr const char* kMigration = "3ab0e3b2-0000-4000-8000-00000000feed";

struct Tenants : ::testing::Test {
  void begin() {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    look();
    first = world->record().instance;
    ASSERT_EQ(world->record().stage, Stage::allocated);
    ASSERT_EQ(world->record().project, "project-1");
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  // The next instance gets the drive as the first one left it, while no worker runs.
  void the_next_gets_it_unseen(bool provider_anew, const std::string& project) {
    world->kill_worker();
    world->tenancy_ends();
    Provider& before = world->provider();
    if (provider_anew) {
      ASSERT_TRUE(world->placement.remove(before.row.uuid));
      world->placement.create(world->slots[0].provider_name, true);
    } else {
      world->placement.set_reserved_by(Offered::by_operator, before.row.uuid, 0);
    }
    world->placement.is_of_project("instance-2", project);
    world->tenancy_begins();
    ASSERT_EQ(world->slots[0].consumer, "instance-2");
    world->start_worker();
    look();
  }
  void the_migration_takes_the_allocation() {
    Slot& slot = world->slots.front();
    world->placement.hand_over(world->provider().row.uuid, slot.consumer, kMigration);
    slot.consumer = kMigration;
  }
  void it_leaves() {
    world->tenancy_ends();
    world->kick({0});
    world->pass(kHourMs);
    ASSERT_EQ(world->record().stage, Stage::available);
  }
  [[nodiscard]] Certificate certificate() {
    return *decode_certificate(world->disk.certificates.at(world->record().certificate_id));
  }
  [[nodiscard]] std::vector<std::string> tenancies() const {
    std::vector<std::string> all;
    for (const AuditEntry& each : world->disk.audit) {
      if (each.event != AuditEvent::tenancy_seen && each.event != AuditEvent::tenancy_ended)
        continue;
      all.push_back(std::string(to_string(each.event)) + " " + each.instance);
    }
    return all;
  }
  void expect_alarm() {
    EXPECT_THAT(world->record().last_error, HasSubstr(kAlarm));
    EXPECT_THAT(world->record().last_error, HasSubstr(first + " had it, and nobody erased it"));
    EXPECT_THAT(world->log.text, HasSubstr(kAlarm));
    EXPECT_EQ(world->record().stage, Stage::allocated);
    EXPECT_EQ(world->record().instance, "instance-2");
    EXPECT_EQ(world->record().migration, "");
    EXPECT_THAT(tenancies(), ElementsAre("tenancy_seen instance-1", "tenancy_ended instance-1",
                                         "tenancy_seen instance-2"));
    EXPECT_EQ(world->provider().inventory.reserved, 1);
  }
  void expect_no_alarm() {
    EXPECT_THAT(world->log.text, Not(HasSubstr(kAlarm)));
    EXPECT_THAT(tenancies(), ElementsAre("tenancy_seen instance-1"));
  }
  void TearDown() override {
    if (world) {
      EXPECT_EQ(world->failure.value_or(""), "");
    }
  }
  bool cyborg = false;
  std::string first;
  std::optional<World> world;
};

using PassedOn = Tenants;

// The ledger knows that the drive is dirty, and not whose it is (waiting.md).
TEST_F(PassedOn, IsSaidOfEachTenantWhenRedisHasLostItsRecords) {
  begin();
  world->kill_worker();
  world->store.lose_everything();
  world->start_worker();
  look();
  EXPECT_THAT(world->record().last_error, HasSubstr("although it is remembered as dirty: "));
  EXPECT_THAT(world->record().last_error, HasSubstr(kAlarm));
  EXPECT_EQ(world->record().instance, first);
  EXPECT_EQ(world->record().stage, Stage::allocated);
}

TEST_F(PassedOn, BehindAProviderThatNovaMadeAnewItIsAnAlarmAtOnce) {
  begin();
  the_next_gets_it_unseen(true, "project-1");
  expect_alarm();
  it_leaves();
  EXPECT_EQ(certificate().instance, "instance-2");
  EXPECT_EQ(certificate().migration, "");
  EXPECT_EQ(world->erases, 1U);
}

TEST_F(PassedOn, ToAnotherProjectItIsAnAlarmAtOnce) {
  begin();
  the_next_gets_it_unseen(false, "project-2");
  expect_alarm();
  EXPECT_EQ(world->record().project, "project-2");
}

TEST_F(PassedOn, InOneProjectItIsAnAlarmAfterTheTimeOfAMove) {
  begin();
  the_next_gets_it_unseen(false, "project-1");
  EXPECT_EQ(world->record().instance, first);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("consumer instance-2 has it"));
  expect_no_alarm();
  world->pass(2 * kMinuteMs);
  expect_alarm();
}

TEST_F(PassedOn, OfCyborgsItIsAnAlarmToo) {
  cyborg = true;
  begin();
  the_next_gets_it_unseen(false, "project-2");
  expect_alarm();
}

using Moved = Tenants;

TEST_F(Moved, TheSourcesCertificateNamesTheInstanceAndItsMigration) {
  begin();
  the_migration_takes_the_allocation();
  look();
  EXPECT_EQ(world->record().instance, first);
  EXPECT_EQ(world->record().migration, kMigration);
  expect_no_alarm();
  it_leaves();
  EXPECT_EQ(certificate().instance, first);
  EXPECT_EQ(certificate().migration, kMigration);
  EXPECT_EQ(certificate().project, "project-1");
  EXPECT_EQ(certificate().user, "user-of-project-1");
  EXPECT_EQ(certificate().instance_source, "allocation");
  EXPECT_EQ(world->record().migration, "");
}

// Nova asks the scheduler for the other place after it has moved the allocation.
TEST_F(Moved, WhatHasNoOtherPlaceYetIsNoAlarm) {
  begin();
  the_migration_takes_the_allocation();
  world->placement.leaves_elsewhere(first);
  world->kick({0});
  world->pass(30'000);
  EXPECT_EQ(world->record().instance, first);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("Placement does not tell yet"));
  world->placement.comes_elsewhere(first);
  look();
  EXPECT_EQ(world->record().migration, kMigration);
  EXPECT_EQ(world->record().waiting_for, "");
  world->pass(kHourMs);
  expect_no_alarm();
}

TEST_F(Moved, WhatComesBackIsTheSameTenancy) {
  begin();
  the_migration_takes_the_allocation();
  look();
  world->placement.hand_over(world->provider().row.uuid, kMigration, first);
  world->slots[0].consumer = first;
  world->pass(kHourMs);
  EXPECT_EQ(world->record().instance, first);
  expect_no_alarm();
  it_leaves();
  EXPECT_EQ(certificate().instance, first);
}

TEST_F(Moved, WhatLeavesWhileItIsNotKnownIsNamedBesideTheOther) {
  begin();
  the_migration_takes_the_allocation();
  world->placement.leaves_elsewhere(first);
  world->kick({0});
  world->pass(20'000);
  ASSERT_EQ(world->record().migration, "");
  it_leaves();
  EXPECT_EQ(certificate().instance, first);
  EXPECT_EQ(certificate().migration, kMigration);
}

// A worker that knew all of it asks nothing more.
TEST_F(Moved, ItIsAskedOnce) {
  begin();
  EXPECT_EQ(world->placement.requests().consumer, 1);
  the_migration_takes_the_allocation();
  look();
  EXPECT_EQ(world->placement.requests().consumer, 3);
  world->pass(kHourMs);
  world->kill_worker();
  world->start_worker();
  world->pass(kHourMs);
  EXPECT_EQ(world->placement.requests().consumer, 3);
}

}  // namespace
}  // namespace reclaim::sim
