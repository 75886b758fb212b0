// What Cyborg's casts and accelerator requests may bring about, and what not: every host can say an
// accelerator request by a kick, and anybody on the bus both.
#include <gtest/gtest.h>

#include "tests/sim/world.h"

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
  [[nodiscard]] Arq bound_arq() {
    Arq arq;
    arq.uuid = "arq-1";
    arq.state = ArqState::bound;
    arq.hostname = "compute-1";
    arq.address = slot().address;
    arq.attach_handle_type = "PCI";
    arq.instance_uuid = "vm-of-old";
    return arq;
  }
  void hear(const std::string& event, const Arq& arq) {
    Kick kick;
    kick.reason = event;
    kick.arq = encode_arq(arq);
    kick.delays_s = {0};
    world.conductor->take(kick);
  }
  void hear_unbound(Arq arq) {
    arq.state = ArqState::unbound;
    hear("accelerator_request.unbind.end", arq);
  }

  World world;
};

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
