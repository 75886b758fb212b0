// PCI devices that are no drives, in a scripted world: cleaned by an operator's steps, given back
// only when all of them succeeded and one verifies, and never touched when no entry lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/function_plan.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OperatorStep step(const std::string& name, int priority, bool verifies = false) {
  OperatorStep out;
  out.name = name;
  out.interface = "card";
  out.command = "/steps/" + name;
  out.priority = priority;
  out.verifies = verifies;
  out.args = "{}";
  return out;
}

// One network card of Nova's, whose tenant changed its firmware.
struct FunctionSteps : ::testing::Test {
  void begin(std::vector<OperatorStep> steps) {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->own_steps = std::move(steps);
    for (const OperatorStep& own : world->own_steps) {
      world->hardware.commands[own.command] = "content of " + own.name;
      if (own.verifies) world->hardware.cleaning_commands.insert(own.command);
    }
    world->slots.front().by_steps = true;
    world->drive().class_code = 0x020000;
    world->drive().hardware.serial_number = "dsn-1";
    start();
  }
  void start() {
    world->start_worker();
    world->drives->on_command = [this](const nvme::Command& command) {
      ran.push_back(command.path + " in " + std::string(to_string(world->record().stage)));
    };
    world->pass(kMinuteMs);
  }
  void look(std::int64_t ms = 10 * kMinuteMs) {
    world->kick({0});
    world->pass(ms);
  }
  void comes() {
    world->tenancy_begins();
    look(kMinuteMs);
  }
  void leaves(std::int64_t ms = 10 * kMinuteMs) {
    world->tenancy_ends();
    look(ms);
  }
  void expect_reserved(Stage stage) {
    EXPECT_EQ(world->record().stage, stage);
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_EQ(world->releases, 0U);
  }
  void TearDown() override {
    if (world) {
      EXPECT_EQ(world->failure.value_or(""), "");
    }
  }

  std::optional<World> world;
  std::vector<std::string> ran;
};

TEST_F(FunctionSteps, ACardIsCleanedByItsStepsAndGivenBack) {
  begin({step("reflash", 60, true), step("log", 5)});
  EXPECT_EQ(world->record().type, "NIC");
  EXPECT_TRUE(world->record().by_steps);
  comes();
  EXPECT_EQ(world->record().stage, Stage::allocated);
  EXPECT_THAT(step_names(world->record().plan),
              ElementsAre("card.reflash", "pci.reset", "pci.check_config", "pci.check_rom",
                          "pci.check_health", "card.log"));
  leaves();
  EXPECT_THAT(ran, ElementsAre("/steps/reflash in preparing", "/steps/log in preparing"));
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->record().enrolment, "as it should be");
  ASSERT_EQ(world->disk.certificates.size(), 1U);
  const std::string& sealed = world->disk.certificates.begin()->second;
  EXPECT_THAT(sealed, AllOf(HasSubstr("operator_steps"), HasSubstr("card.reflash"),
                            HasSubstr("pci.check_rom"), Not(HasSubstr("purge"))));
}

TEST_F(FunctionSteps, WithoutAStepThatVerifiesItIsOutOfThePool) {
  begin({step("reflash", 60)});
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("none of its steps verifies"));
  look();
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(FunctionSteps, AStepThatFailsQuarantinesIt) {
  begin({step("reflash", 60, true)});
  comes();
  world->drive().command_ends_with = Errc::failed;
  leaves();
  expect_reserved(Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("card.reflash: exit status 3"));
}

TEST_F(FunctionSteps, ABuiltInCheckThatFailsQuarantinesIt) {
  begin({step("reflash", 60, true)});
  comes();
  world->drive().locked = true;
  leaves();
  expect_reserved(Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("rom: changed"));
}

TEST_F(FunctionSteps, WhatTheHostUsesIsNotTouched) {
  begin({step("reflash", 60, true)});
  comes();
  world->drive().guarded = true;
  leaves();
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(FunctionSteps, AHoldCannotBeToldFromAMissedTenancyAndIsLeft) {
  begin({step("reflash", 60, true)});
  comes();
  leaves();
  ASSERT_EQ(world->releases, 1U);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  look();
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("no counters to tell"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(FunctionSteps, ACardThatNoEntryListsAnyMoreStaysReserved) {
  begin({step("reflash", 60, true)});
  comes();
  world->drive().guarded = true;
  leaves();
  world->slots.front().ours = false;
  world->drive().guarded = false;
  look();
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("no [devices] device_spec entry matches"));
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(FunctionSteps, ItIsStillRememberedAsOursWhenRedisLostTheRecord) {
  begin({step("reflash", 60, true)});
  comes();
  world->drive().guarded = true;
  leaves();
  world->slots.front().ours = false;
  world->kill_worker();
  world->store.lose_everything();
  world->drive().guarded = false;
  start();
  look();
  EXPECT_TRUE(world->record().by_steps);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(ran, IsEmpty());
}

// The line was written of a record that could not be read, and the card was away when the record
// was made again.
TEST_F(FunctionSteps, WhatOnlyItsDirtIsKnownOfIsWhatTheHostShows) {
  begin({step("reflash", 60, true)});
  comes();
  world->kill_worker();
  world->tenancy_ends();
  world->store.lose_everything();
  LedgerEntry& line = world->disk.entries.begin()->second;
  line = LedgerEntry{};
  line.dirty = true;
  line.dirty_since = world->scheduler.now().wall;
  world->drive().present = false;
  start();
  EXPECT_FALSE(world->record().by_steps);
  expect_reserved(Stage::pending_cleaning);
  world->drive().present = true;
  look();
  EXPECT_TRUE(world->record().by_steps);
  EXPECT_TRUE(world->disk.entries.begin()->second.by_steps) << "Redis may lose the record again";
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("--enrol` accepts it"));
  world->command("enrol", world->slots.front().address);
  look();
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(FunctionSteps, AnotherCardAtTheAddressIsNotGivenAway) {
  begin({step("reflash", 60, true)});
  comes();
  leaves();
  ASSERT_EQ(world->releases, 1U);
  world->drive().hardware.serial_number = "dsn-2";
  look();
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("another drive is at this address"));
}

TEST_F(FunctionSteps, AnInterruptedCleaningStartsOver) {
  begin({step("reflash", 60, true), step("log", 5)});
  comes();
  world->drive().command_ends_with = Errc::busy;
  leaves(2 * kMinuteMs);
  world->kill_worker();
  world->drive().command_ends_with.reset();
  start();
  look();
  EXPECT_EQ(world->releases, 1U);
}

}  // namespace
}  // namespace reclaim::sim
