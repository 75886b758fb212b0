// What is said and done of a device of Cyborg's that nobody knows, on which Cyborg has leaked an
// ARQ, or that a switch of Cyborg's missed or hit by mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kStranger = 99;

struct OfCyborg : ::testing::Test {
  void begin(int slots = 1, bool cyborg = true) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    options.scripted_slots = slots;
    world.emplace(options);
    world->conductor_options.first_sight = first_sight;
    for (std::size_t i = 0; i < world->slots.size(); ++i) {
      write_media(world->drive(i), kStranger, 7);
    }
  }
  void start() {
    world->start_worker();
    world->pass(kMinuteMs);
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
  [[nodiscard]] std::int64_t reserved(std::size_t slot = 0) {
    return world->provider(slot).inventory.reserved;
  }

  std::optional<World> world;
  FirstSight first_sight = FirstSight::accept;
};

// -------------------------------------------------------------------------------------------------
// First sight.

struct FirstSightIsCleaned : OfCyborg {
  FirstSightIsCleaned() { first_sight = FirstSight::clean; }
};

TEST_F(FirstSightIsCleaned, BeforeItsFirstTenant) {
  begin();
  start();
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->drive().owner, 0U);
  EXPECT_EQ(reserved(), 0);
  // Cyborg offered it, as it does with each device: that is no incident.
  EXPECT_THAT(world->log.text,
              AllOf(HasSubstr("is taken out of the pool, because nobody knows what is on it"),
                    Not(HasSubstr("find out who un-reserved it"))));
  EXPECT_TRUE(std::none_of(
      world->disk.audit.begin(), world->disk.audit.end(),
      [](const AuditEntry& entry) { return entry.event == AuditEvent::reserved_again; }));
}

// Its tenant has gone, and only a listed ARQ tells that there was one.
TEST_F(FirstSightIsCleaned, AlsoWhereItIsNoDrive) {
  begin();
  OperatorStep reflash;
  reflash.name = "reflash";
  reflash.interface = "card";
  reflash.command = "/steps/reflash";
  reflash.priority = 60;
  reflash.verifies = true;
  reflash.args = "{}";
  world->own_steps = {reflash};
  world->hardware.commands[reflash.command] = "what it does";
  world->hardware.cleaning_commands.insert(reflash.command);
  world->slots.front().by_steps = true;
  world->drive().class_code = 0x120000;
  start();
  world->pass(kMinuteMs);
  EXPECT_TRUE(world->record().by_steps);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->drive().owner, 0U);
  world->kill_worker();
  start();
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(FirstSightIsCleaned, AndNotASecondTimeThoughRedisForgetsIt) {
  begin();
  start();
  world->pass(kMinuteMs);
  ASSERT_EQ(world->releases, 1U);
  world->kill_worker();
  world->store.lose_everything();
  start();
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->erases, 1U);
}

TEST_F(FirstSightIsCleaned, UnlessATenantHasIt) {
  begin();
  world->tenancy_begins();
  start();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->erases, 0U);
}

TEST_F(FirstSightIsCleaned, UnlessItIsNotOurs) {
  begin();
  world->slots.front().ours = false;
  start();
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(world->store.stored(world->slots.front().address), nullptr);
}

TEST_F(FirstSightIsCleaned, UnlessItIsNovas) {
  begin(1, false);
  start();
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->erases, 0U);
}

TEST_F(OfCyborg, WhereItIsAcceptedAFirstSightIsLeftAsItIs) {
  begin();
  start();
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->erases, 0U);
  EXPECT_EQ(world->drive().owner, kStranger);
}

// -------------------------------------------------------------------------------------------------
// A leaked ARQ.

// Cyborg was silent when Nova deleted the instance: Nova logs that and goes on.
TEST_F(OfCyborg, AnArqThatItLeakedIsNamedUntilItIsDeleted) {
  begin();
  start();
  world->tenancy_begins();
  look();
  ASSERT_EQ(world->record().stage, Stage::allocated);
  EXPECT_EQ(world->record().waiting_for, "");
  Slot& slot = world->slots.front();
  world->drive().guest = 0;
  world->drive().driver = "nvme";
  world->placement.deallocate(world->provider().row.uuid, slot.consumer);
  slot.phase = Phase::none;
  look();
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U) << "the device itself is cleaned";
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("leaked: ARQ " + slot.arq));
  EXPECT_THAT(world->record().waiting_for, HasSubstr(slot.consumer));
  EXPECT_THAT(world->log.text, HasSubstr("waits: leaked: ARQ"));
  slot.bound = false;
  world->cyborg.remove(slot.arq);
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->record().waiting_for, "");
}

// -------------------------------------------------------------------------------------------------
// A switch that goes astray.

struct SwitchOfCyborg : OfCyborg {
  // Both were cleaned by us, and are on offer.
  void begin_clean() {
    begin(2);
    start();
    for (std::size_t i = 0; i < 2; ++i) {
      world->tenancy_begins(i);
      look();
      world->tenancy_ends(i);
      look();
    }
    ASSERT_EQ(world->releases, 2U);
    world->log.text.clear();
  }
  void set_status(const char* status) {
    world->cyborg.device(world->slots.front().address).status = status;
  }
};

TEST_F(SwitchOfCyborg, ADisableThatHitAnotherDeviceIsAnAlarmAndNeitherIsTrusted) {
  begin_clean();
  set_status("maintaining");
  world->placement.set_reserved_by(Offered::no, world->provider(1).row.uuid, 1);
  look();
  look();
  EXPECT_THAT(world->log.text, HasSubstr("its disable may have hit another device"));
  EXPECT_THAT(world->record(0).waiting_for, HasSubstr("its status is maintaining, and"));
  EXPECT_THAT(world->record(1).waiting_for, HasSubstr("taken for a hold"));
  EXPECT_TRUE(world->record(1).held);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(reserved(1), 1) << "it may be somebody's hold";
  world->placement.set_reserved_by(Offered::by_operator, world->provider(1).row.uuid, 0);
  set_status("enabled");
  look();
  look();
  EXPECT_EQ(world->record(0).waiting_for, "");
  EXPECT_EQ(world->record(1).waiting_for, "");
}

TEST_F(SwitchOfCyborg, ADisableThatHitItsOwnIsAHold) {
  begin_clean();
  set_status("maintaining");
  world->placement.set_reserved_by(Offered::no, world->provider(0).row.uuid, 1);
  look();
  EXPECT_TRUE(world->record(0).held);
  EXPECT_EQ(world->record(0).waiting_for, "");
}

TEST_F(SwitchOfCyborg, AnEnableThatHitsADirtyDeviceIsUndoneWithinSeconds) {
  begin_clean();
  world->tenancy_begins(1);
  look();
  world->drive(1).guarded = true;
  world->tenancy_ends(1);
  look();
  ASSERT_EQ(world->record(1).stage, Stage::pending_cleaning);
  world->placement.set_reserved_by(Offered::by_nova, world->provider(1).row.uuid, 0);
  world->pass(3'000);
  EXPECT_EQ(reserved(1), 1);
}

// Today's Cyborg does not say which of the host's devices a status is of.
TEST_F(SwitchOfCyborg, AStatusOfAnyDeviceIsNoAlarm) {
  begin_clean();
  set_status("maintaining");
  world->cyborg.device(world->slots.front().address).uuid.clear();
  look();
  EXPECT_EQ(world->record(0).waiting_for, "");
}

}  // namespace
}  // namespace reclaim::sim
