// An operator's own steps in a scripted world: when they run, what ends a cleaning, and that
// nothing is given back before the last of them is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/plan.h"
#include "state/device/hold.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OperatorStep step(const std::string& name, int priority, StepStage stage = StepStage::before) {
  OperatorStep out;
  out.name = name;
  out.interface = "firmware";
  out.command = "/steps/" + name;
  out.priority = priority;
  out.stage = stage;
  out.args = R"({"image":"x.bin"})";
  return out;
}

OperatorStep hold(const std::string& name, int approvals) {
  OperatorStep out = step(name, 60);
  out.interface = std::string(kHoldInterface);
  out.command.clear();
  out.approvals = approvals;
  out.timeout_ms = 10 * kMinuteMs;
  return out;
}

// One drive whose tenant has just gone, with an operator's steps.
struct OwnSteps : ::testing::Test {
  void begin(std::vector<OperatorStep> steps, bool manual = false) {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->own_steps = std::move(steps);
    world->manual = manual;
    for (const OperatorStep& own : world->own_steps) {
      if (!own.is_hold()) world->hardware.commands[own.command] = "content of " + own.name;
    }
    start();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void start() {
    world->start_worker();
    world->drives->on_command = [this](const nvme::Command& command) {
      ran.push_back(command.path + (command.network ? " with network" : "") + " in " +
                    std::string(to_string(world->record().stage)));
      inputs.push_back(command.input);
    };
  }
  void leave(std::int64_t ms = kHourMs) {
    world->tenancy_ends();
    world->kick({0});
    world->pass(ms);
  }
  void order(const std::string& what, const std::string& who = "alice") {
    world->command(what, world->slots.at(0).address, who);
    world->pass(kMinuteMs);
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
  std::vector<std::string> inputs;
};

TEST_F(OwnSteps, RunInTheirPlacesAndAreInTheCertificate) {
  OperatorStep early = step("early", 95);
  early.network = true;
  begin({step("audit", 10, StepStage::after), step("reflash", 60), early});
  leave();
  EXPECT_THAT(ran, ElementsAre("/steps/early with network in preparing",
                               "/steps/reflash in preparing", "/steps/audit in concluding"));
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(world->record().stage, Stage::available);
  const std::string& findings = world->record().findings;
  EXPECT_THAT(findings, AllOf(HasSubstr("firmware.reflash"), HasSubstr("firmware.audit"),
                              HasSubstr("/steps/audit sha256:content of audit")));
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_THAT(inputs[1],
              AllOf(HasSubstr(R"("protocol":1)"), HasSubstr(R"("step":"firmware.reflash")"),
                    HasSubstr(R"("args":{"image":"x.bin"})"), HasSubstr(R"("attempt":1)"),
                    HasSubstr("firmware.early")));
}

TEST_F(OwnSteps, WhatOneSaysIsOnRecordWhileItRuns) {
  begin({step("reflash", 60)});
  leave(0);
  std::string steps;
  for (int i = 0; i < 1'200; ++i) {
    world->pass(100);
    const Record& record = world->record();
    if (record.progress_message == "half") steps = record.clean_step;
    if (record.clean_step != "firmware.reflash") {
      EXPECT_EQ(record.progress_message, "");
    }
  }
  EXPECT_EQ(steps, "firmware.reflash");
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, OneThatFailsQuarantinesTheDrive) {
  begin({step("reflash", 60)});
  world->drive().command_ends_with = Errc::failed;
  leave();
  expect_reserved(Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("firmware.reflash: exit status 3"));
  EXPECT_EQ(world->erases, 0U);
  world->drive().command_ends_with.reset();
  order("clean");
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, OneThatSaysLaterIsTriedAgain) {
  begin({step("reflash", 60)});
  world->drive().command_ends_with = Errc::busy;
  leave(2 * kMinuteMs);
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("firmware.reflash: exit status 3"));
  world->drive().command_ends_with.reset();
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, AfterTheVerificationAFailureKeepsTheDriveToo) {
  begin({step("audit", 10, StepStage::after)});
  world->drive().command_ends_with = Errc::failed;
  leave();
  expect_reserved(Stage::error);
  EXPECT_EQ(world->erases, 1U);
}

TEST_F(OwnSteps, OneThatWritesAfterTheVerificationStartsTheCleaningOver) {
  begin({step("audit", 10, StepStage::after)});
  world->drive().command_writes = true;
  leave(3 * kMinuteMs);
  EXPECT_EQ(world->releases, 0U);
  EXPECT_GT(world->record().erases, 0U);
  world->drive().command_writes = false;
  world->pass(kHourMs);
  EXPECT_LE(world->releases, 1U);
}

TEST_F(OwnSteps, ACommandThatIsExchangedMeanwhileStartsThePlanOver) {
  begin({step("first", 60), step("second", 55)});
  world->drives->on_command = [this](const nvme::Command& command) {
    ran.push_back(command.path + " " + command.sha256);
    if (command.path == "/steps/first") world->hardware.commands["/steps/second"] = "new";
  };
  leave();
  EXPECT_THAT(ran, ElementsAre("/steps/first content of first", "/steps/first content of first",
                               "/steps/second new"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, ACommandThatIsNotAcceptableKeepsTheDeviceWaiting) {
  begin({step("reflash", 60)});
  world->hardware.commands.clear();
  leave();
  expect_reserved(Stage::pending_cleaning);
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(OwnSteps, NewDefinitionsChangeAPlanWhoseEraseHasNotBegun) {
  begin({step("reflash", 60)});
  world->drive().guarded = true;
  leave(2 * kMinuteMs);
  expect_reserved(Stage::pending_cleaning);
  world->own_steps = {step("other", 60)};
  world->hardware.commands["/steps/other"] = "o";
  world->drive().guarded = false;
  world->pass(kHourMs);
  EXPECT_THAT(ran, ElementsAre("/steps/other in preparing"));
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, ARestartRunsThemAgain) {
  begin({step("first", 60), step("second", 55)});
  world->drives->on_command = [this](const nvme::Command& command) { ran.push_back(command.path); };
  world->tenancy_ends();
  world->kick({0});
  while (ran.size() < 2) world->pass(100);
  world->kill_worker();
  start();
  world->pass(kHourMs);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_THAT(std::vector<std::string>(ran.begin() + 2, ran.end()),
              ElementsAre("/steps/first in preparing", "/steps/second in preparing"));
}

TEST_F(OwnSteps, AHoldWaitsForItsApprovalsByDifferentOperators) {
  begin({hold("forensics", 2)});
  leave(kMinuteMs);
  EXPECT_EQ(world->record().clean_step, "hold.forensics");
  EXPECT_THAT(world->record().waiting_for, HasSubstr("hold.forensics: 0 of 2 approvals"));
  order("unhold", "alice");
  EXPECT_THAT(world->record().waiting_for, HasSubstr("1 of 2 approvals (alice)"));
  order("unhold", "alice");
  EXPECT_EQ(world->record().clean_step, "hold.forensics") << "one operator is not two";
  EXPECT_EQ(world->erases, 0U);
  order("unhold", "bob");
  world->pass(kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
  EXPECT_THAT(world->record().findings, HasSubstr("alice, bob"));
}

TEST_F(OwnSteps, OnePersonAtTwoMachinesIsOne) {
  begin({hold("forensics", 2)});
  leave(kMinuteMs);
  order("unhold", "alice@ops-1");
  order("unhold", "alice@ops-2");
  EXPECT_EQ(world->record().clean_step, "hold.forensics");
  order("unhold", "bob@ops-1");
  world->pass(kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, AHoldThatNobodyEndsIsAnError) {
  begin({hold("forensics", 1)});
  leave(20 * kMinuteMs);
  expect_reserved(Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("0 of 1 approvals within 600 s"));
  order("unhold");
  expect_reserved(Stage::error);
}

TEST_F(OwnSteps, ApprovalsOfAHoldThatWasAbortedCountForNothing) {
  begin({hold("forensics", 2)});
  leave(kMinuteMs);
  order("unhold", "alice");
  order("abort");
  expect_reserved(Stage::error);
  order("clean");
  EXPECT_EQ(world->record().clean_step, "hold.forensics");
  order("unhold", "bob");
  EXPECT_THAT(world->record().waiting_for, HasSubstr("1 of 2 approvals (bob)"));
  order("unhold", "alice");
  world->pass(kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
}

// It is given while the end of the step before the hold is recorded, and is durable once the device
// waits at the hold.
TEST_F(OwnSteps, AnApprovalThatCameBeforeItsHoldCountsForNothing) {
  begin({step("early", 95), hold("forensics", 1)});
  world->store.on_saved = [this, said = false, seen = world->store.on_saved](
                              const Record& record, const JournalEntry& entry) mutable {
    seen(record, entry);
    if (record.clean_step != "hold.forensics" || std::exchange(said, true)) return;
    world->scheduler.outside(0, [this] {
      world->faults.slow = 1;
      world->command("unhold", world->slots.at(0).address);
      world->faults.slow = 0;
    });
  };
  leave(kMinuteMs);
  EXPECT_EQ(world->record().clean_step, "hold.forensics");
  EXPECT_THAT(world->record().waiting_for, HasSubstr("0 of 1 approvals"));
  EXPECT_EQ(world->erases, 0U);
}

// Somebody who may write to the stream took it out before the worker had seen it.
TEST_F(OwnSteps, AnApprovalOfAnEarlierCleaningCountsForNothing) {
  begin({hold("forensics", 1)});
  leave(kMinuteMs);
  Order withheld;
  withheld.order = "unhold";
  withheld.address = to_string(world->slots.at(0).address);
  withheld.who = "alice";
  withheld.request_id = "req-withheld";
  withheld.issued_at = world->scheduler.now().wall;
  withheld.mac = world->order_code;
  withheld.hold = hold_id(world->record());
  world->kill_worker();
  world->start_worker();
  world->pass(kMinuteMs);
  ASSERT_EQ(world->record().clean_step, "hold.forensics");
  world->conductor->take(withheld);
  world->pass(kMinuteMs);
  EXPECT_THAT(world->store.order_answers["req-withheld"], HasSubstr("one of before"));
  EXPECT_THAT(world->record().waiting_for, HasSubstr("0 of 1 approvals"));
  EXPECT_EQ(world->erases, 0U);
  order("unhold");
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 1U);
}

// What an approval names was read in Redis, where somebody showed a hold that was still to come.
TEST_F(OwnSteps, AnApprovalThatNamesALaterHoldCountsForNothingThere) {
  begin({hold("forensics", 1)});
  leave(kMinuteMs);
  Order early;
  early.order = "unhold";
  early.address = to_string(world->slots.at(0).address);
  early.who = "alice";
  early.request_id = "req-early";
  early.issued_at = WallMs{world->scheduler.now().wall.ms - kHalfHourMs};
  early.mac = world->order_code;
  early.hold = hold_id(world->record());
  world->conductor->take(early);
  world->pass(kMinuteMs);
  EXPECT_THAT(world->store.order_answers["req-early"],
              HasSubstr("issued before the device came to this hold"));
  EXPECT_EQ(world->erases, 0U);
}

TEST_F(OwnSteps, AnApprovalCountsThoughTheClockIsSetBackAtItsHold) {
  begin({hold("forensics", 1)});
  leave(kMinuteMs);
  world->scheduler.shift_wall_clock(-kHalfHourMs);
  order("unhold");
  world->pass(kMinuteMs);
  EXPECT_EQ(world->erases, 1U);
}

// Its record is being written: the approval's would be written over it.
TEST_F(OwnSteps, AnApprovalDoesNotUndoAnAbort) {
  begin({hold("forensics", 2)});
  leave(kMinuteMs);
  world->store.set_away(true);
  order("abort");
  order("unhold");
  world->store.set_away(false);
  world->pass(kMinuteMs);
  expect_reserved(Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("abort"));
}

TEST_F(OwnSteps, OneThatIsNotAbortableRunsToItsEnd) {
  OperatorStep own = step("reflash", 60);
  own.abortable = false;
  begin({own});
  world->drives->on_command = [this](const nvme::Command& /*command*/) {
    world->command("abort", world->slots.at(0).address);
  };
  leave();
  EXPECT_EQ(world->releases, 1U);
}

TEST_F(OwnSteps, AManualCleaningWaitsForAnOperator) {
  begin({}, true);
  leave();
  expect_reserved(Stage::pending_cleaning);
  EXPECT_EQ(world->record().clean_start, CleanStart::awaited);
  EXPECT_THAT(world->record().waiting_for, HasSubstr("`reclaim device clean` starts it"));
  order("clean");
  world->pass(kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
  // The word was for that one time.
  world->tenancy_begins();
  world->kick({0});
  world->pass(kMinuteMs);
  leave();
  EXPECT_EQ(world->record().stage, Stage::pending_cleaning);
  EXPECT_EQ(world->releases, 1U);
}

}  // namespace
}  // namespace reclaim::sim
