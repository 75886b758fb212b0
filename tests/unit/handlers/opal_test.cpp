// A drive that was reverted by its PSID has that in the audit journal, and one whose SID was
// blocked at enrolment is not given back unblocked, whatever happened to it after its clean steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "handlers/conductor/conductor.h"
#include "nvme/controller/controller_state.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

std::string enrolled(bool blocked) {
  nvme::ControllerState state;
  state.serial = "S";
  state.opal.supported = true;
  state.opal.sid_known = true;
  state.opal.sid_blocked = blocked;
  return encode_controller_state(state);
}

struct OpalLife : ::testing::Test {
  OpalLife() {
    WorldOptions options;
    options.scripted = options.trace = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }
  void tenancy() {
    world->tenancy_begins();
    look();
    world->tenancy_ends();
    look();
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }

  std::optional<World> world;
};

TEST_F(OpalLife, ARevertHasAnEntryOfItsOwnInTheJournal) {
  world->drive().reverted = "a locking range is locked";
  tenancy();
  EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
  std::size_t told = 0;
  for (const AuditEntry& entry : world->disk.audit) {
    if (entry.event != AuditEvent::opal_reverted) continue;
    told += 1;
    EXPECT_EQ(entry.serial, world->drive().serial);
    EXPECT_EQ(entry.instance, "instance-1");
    EXPECT_EQ(entry.detail, "TCG Opal was reverted by PSID; it was: a locking range is locked");
  }
  EXPECT_EQ(told, 1U);
}

TEST_F(OpalLife, WhatWasBlockedIsNotGivenBackUnblocked) {
  world->drive().enrolled_as = enrolled(true);
  tenancy();
  ASSERT_EQ(world->record().enrolment, enrolled(true)) << world->record().last_error;
  world->drive().left_as = enrolled(false);
  tenancy();
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_THAT(world->record().last_error, HasSubstr("the SID was blocked at enrolment"));
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(world->record().enrolment, enrolled(true)) << "the next cleaning sees it again";
  world->drive().left_as = enrolled(true);
  world->command("clean", world->slots.front().address);
  world->pass(kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
}

}  // namespace
}  // namespace reclaim::sim
