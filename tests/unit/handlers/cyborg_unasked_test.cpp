// What is heard of ARQs where Cyborg's API is not there to be asked. Told step by step in a
// scripted world, as in conductor_test.
#include <gtest/gtest.h>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// Cyborg's API cannot be asked, and the word comes when the admission is being written to Redis:
// the device is not at work yet, and the survey that admitted it is past.
struct CyborgUnasked : ::testing::Test {
  CyborgUnasked() : world(options()) {}
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = options.cyborg = true;
    options.cyborg_api = false;
    return options;
  }
  World world;
};

TEST_F(CyborgUnasked, AnArqHeardWhileTheAdmissionIsRecordedKeepsTheDriveFromBeingErased) {
  world.start_worker();
  world.pass(kMinuteMs);
  world.tenancy_begins();
  world.kick({0});
  world.pass(kMinuteMs);
  Slot& slot = world.slots.front();
  const auto checks = world.store.on_saved;
  bool told = false;
  world.store.on_saved = [&](const Record& record, const JournalEntry& entry) {
    checks(record, entry);
    if (record.stage != Stage::guarding || told) return;
    told = true;
    slot.arq = "arq-7";
    Arq& arq = world.cyborg.arq(slot.arq);
    arq.uuid = slot.arq;
    arq.state = ArqState::bound;
    arq.hostname = "compute-1";
    arq.address = slot.address;
    world.tell_arq(slot, "accelerator_request.bind.end");
  };
  world.tenancy_ends();
  world.kick({0});
  world.pass(2 * kMinuteMs);
  ASSERT_TRUE(told);
  EXPECT_EQ(world.failure.value_or(""), "");
  EXPECT_EQ(world.record().stage, Stage::error);
  EXPECT_EQ(world.erases, 0U);
  EXPECT_EQ(world.releases, 0U);
}

}  // namespace
}  // namespace reclaim::sim
