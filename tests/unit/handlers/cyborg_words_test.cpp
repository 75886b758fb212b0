// What Cyborg's casts and accelerator requests may bring about, and what not: every host can say an
// accelerator request by a kick, and anybody on the bus both.
#include <gtest/gtest.h>

#include "tests/sim/world.h"
#include "tests/unit/handlers/arq_kick.h"

namespace reclaim::sim {
namespace {

class CyborgWords : public ::testing::Test {
 protected:
  CyborgWords() : world(one_drive()) {
    world.start_worker();
    world.pass(kMinuteMs);
  }
  static WorldOptions one_drive() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 1;
    options.cyborg = true;
    return options;
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  Slot& slot() { return world.slots.front(); }
  void look() {
    world.kick({0});
    world.pass(kMinuteMs);
  }
  void use_it() {
    world.tenancy_begins();
    look();
  }
  [[nodiscard]] Arq bound_arq() { return arq_of(slot().address, "arq-1", "vm-of-old"); }
  void hear(const std::string& event, const Arq& arq) {
    world.conductor->take(arq_kick(event, arq));
  }
  void hear_unbound(Arq arq) {
    arq.state = ArqState::unbound;
    hear("accelerator_request.unbind.end", arq);
  }

  World world;
};

// What an operator keeps is kept: Cyborg's administrator is not the one who ordered the abort.
TEST_F(CyborgWords, ACleanupCastDoesNotOverrideAnOperatorsAbort) {
  use_it();
  world.drive().steps_end_with = Errc::failed;
  world.command("maintenance_on", slot().address);
  world.tenancy_ends();
  look();
  world.command("abort", slot().address);
  look();
  ASSERT_EQ(world.record().stage, Stage::error);
  world.drive().steps_end_with.reset();
  world.command("maintenance_off", slot().address);
  world.pass(kMinuteMs);
  // Nor does it when the record was lost, and only the ledger remembers.
  for (const bool forgets : {false, true}) {
    world.kill_worker();
    if (forgets) world.store.lose_everything();
    world.start_worker();
    world.pass(kMinuteMs);
    world.command("cleanup_device", slot().address);
    world.pass(kHalfHourMs);
    EXPECT_EQ(world.record().stage, Stage::error);
    EXPECT_EQ(world.erases, 0U);
  }
  world.command("clean", slot().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::available);
}

TEST_F(CyborgWords, NoCleanupCastIsTakenWhereNobodyListensForOne) {
  world.conductor_options.hears_cleanups = false;
  world.kill_worker();
  world.start_worker();
  use_it();
  world.drive().steps_end_with = Errc::failed;
  world.tenancy_ends();
  look();
  world.drive().steps_end_with.reset();
  world.command("cleanup_device", slot().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.record().stage, Stage::error);
}

// Anybody on the bus chooses it.
TEST_F(CyborgWords, ACleanupCastsRequestIdIsInNoCertificate) {
  use_it();
  world.drive().steps_end_with = Errc::failed;
  world.tenancy_ends();
  look();
  world.drive().steps_end_with.reset();
  Kick cast;
  cast.command = "cleanup_device";
  cast.address = to_string(slot().address);
  cast.request_id = "req-forged";
  cast.sent_at = world.scheduler.now().wall;
  bool was_recorded = false;
  world.store.on_saved = [&](const Record& record, const JournalEntry&) {
    was_recorded = was_recorded || record.request_id == cast.request_id;
  };
  world.conductor->take(cast);
  world.pass(kHalfHourMs);
  world.store.on_saved = nullptr;
  ASSERT_EQ(world.record().stage, Stage::available);
  EXPECT_FALSE(was_recorded);
}

TEST_F(CyborgWords, ATenancyThatAnArqAloneToldOfIsNotSealed) {
  hear("accelerator_request.bind.end", bound_arq());
  look();
  ASSERT_EQ(world.record().stage, Stage::allocated);
  hear_unbound(bound_arq());
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.releases, 1U);
  EXPECT_TRUE(world.disk.audit.empty());
}

TEST_F(CyborgWords, ATenancyThatPlacementShowsAfterItsArqIsSealedOnce) {
  hear("accelerator_request.bind.end", bound_arq());
  look();
  ASSERT_EQ(world.record().stage, Stage::allocated);
  ASSERT_TRUE(world.disk.audit.empty());
  // The request was heard before the allocation that it is of was seen.
  world.next_instance = "vm-of-old";
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  world.tenancy_begins();
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  look();
  look();
  ASSERT_EQ(world.disk.audit.size(), 1U);
  EXPECT_EQ(world.disk.audit.front().event, AuditEvent::tenancy_seen);
  EXPECT_EQ(world.disk.audit.front().instance, "vm-of-old");
  hear_unbound(bound_arq());
  world.tenancy_ends();
  look();
  world.pass(kHalfHourMs);
  ASSERT_EQ(world.disk.audit.size(), 2U);
  EXPECT_EQ(world.disk.audit.back().event, AuditEvent::tenancy_ended);
}

}  // namespace
}  // namespace reclaim::sim
