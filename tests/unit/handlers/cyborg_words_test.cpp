// What Cyborg's casts and accelerator requests may bring about, and what not: every host can say an
// accelerator request by a kick, and anybody on the bus both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/world.h"
#include "tests/unit/handlers/arq_kick.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

class CyborgWords : public ::testing::Test {
 protected:
  explicit CyborgWords(bool asks_cyborg = true) : world(one_drive(asks_cyborg)) {
    world.start_worker();
    world.pass(kMinuteMs);
  }
  static WorldOptions one_drive(bool asks_cyborg) {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 1;
    options.cyborg = true;
    options.cyborg_api = asks_cyborg;
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

// Whoever had the drive stands in the certificate of its erasure, whomever an accelerator request
// names meanwhile: in each stage between the end of a tenancy and its release.
class ForgedBinding : public CyborgWords {
 protected:
  ForgedBinding() : CyborgWords(false) {}
  void begin() {
    use_it();
    tenant_ = world.record().instance;
    ASSERT_FALSE(tenant_.empty());
  }
  void end() {
    world.tenancy_ends();
    look();
  }
  [[nodiscard]] Arq forged() { return arq_of(slot().address, "arq-2", "vm-elsewhere"); }
  void forge() {
    hear("accelerator_request.bind.end", forged());
    look();
    EXPECT_EQ(world.record().consumer(), tenant_);
    EXPECT_EQ(world.record().arq, "arq-2");
  }
  void expect_certificate(const std::string& tenant) {
    world.pass(kHalfHourMs);
    ASSERT_EQ(world.record().stage, Stage::available);
    ASSERT_EQ(world.disk.certificates.size(), 1U);
    const auto told = decode_certificate(world.disk.certificates.begin()->second);
    ASSERT_TRUE(told) << told.error().what;
    EXPECT_EQ(told->instance, tenant);
    EXPECT_EQ(told->instance_source, "allocation");
    EXPECT_EQ(told->migration, "");
  }
  [[nodiscard]] std::vector<AuditEvent> tenancies() const {
    std::vector<AuditEvent> events;
    for (const AuditEntry& entry : world.disk.audit) {
      if (entry.event != AuditEvent::tenancy_seen && entry.event != AuditEvent::tenancy_ended) {
        continue;
      }
      events.push_back(entry.event);
      EXPECT_EQ(entry.instance, tenant_);
    }
    return events;
  }
  const std::vector<AuditEvent> one_tenancy{AuditEvent::tenancy_seen, AuditEvent::tenancy_ended};
  std::string tenant_;
};

TEST_F(ForgedBinding, OfADeviceThatWaitsToBeCleanedKeepsItsTenant) {
  begin();
  world.command("maintenance_on", slot().address);
  end();
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  forge();
  EXPECT_EQ(world.record().stage, Stage::pending_cleaning);
  world.command("maintenance_off", slot().address);
  world.pass(kHalfHourMs);
  EXPECT_EQ(world.erases, 0U) << "somebody may have it";
  EXPECT_THAT(world.record().waiting_for, HasSubstr("ARQ arq-2 binds it"));
  hear_unbound(forged());
  expect_certificate(tenant_);
  EXPECT_EQ(tenancies(), one_tenancy);
}

TEST_F(ForgedBinding, OfADeviceThatIsBeingCleanedKeepsItsTenant) {
  begin();
  world.drive().sanitize_ms = 10 * kMinuteMs;
  end();
  ASSERT_EQ(world.record().stage, Stage::erasing);
  forge();
  EXPECT_EQ(world.record().stage, Stage::error);
  hear_unbound(forged());
  look();
  world.command("clean", slot().address);
  expect_certificate(tenant_);
  EXPECT_EQ(tenancies(), one_tenancy);
}

TEST_F(ForgedBinding, OfADeviceInErrorKeepsItsTenantAndWhatTheOperatorIsTold) {
  begin();
  world.drive().sanitize_ms = 10 * kMinuteMs;
  end();
  world.command("abort", slot().address);
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::error);
  const std::string note = world.record().last_error;
  ASSERT_THAT(note, HasSubstr("aborted by an operator"));
  forge();
  EXPECT_EQ(world.record().last_error, note);
  EXPECT_THAT(world.record().waiting_for, HasSubstr("ARQ arq-2 holds it"));
  hear_unbound(forged());
  look();
  EXPECT_EQ(world.record().last_error, note);
  world.command("clean", slot().address);
  expect_certificate(tenant_);
  EXPECT_EQ(tenancies(), one_tenancy);
}

// Of a free device, for an instance that lives elsewhere: whom Placement shows then is no migration
// of it, and not left out because he stays for less than a minute.
TEST_F(ForgedBinding, OfAFreeDeviceGivesWayToTheTenantThatPlacementShows) {
  hear("accelerator_request.bind.end", forged());
  look();
  ASSERT_EQ(world.record().stage, Stage::allocated);
  world.placement.set_reserved_by(Offered::by_nova, world.provider().row.uuid, 0);
  world.tenancy_begins();
  world.placement.set_reserved_by(Offered::no, world.provider().row.uuid, 1);
  world.kick({0});
  world.pass(10'000);
  tenant_ = world.record().consumer();
  EXPECT_NE(tenant_, "");
  EXPECT_NE(tenant_, "vm-elsewhere");
  EXPECT_THAT(world.record().last_error, HasSubstr("vm-elsewhere had it, as its ARQ said"));
  hear_unbound(forged());
  world.tenancy_ends();
  look();
  expect_certificate(tenant_);
  EXPECT_EQ(tenancies(), one_tenancy);
}

}  // namespace
}  // namespace reclaim::sim
