// What is heard of ARQs where Cyborg's API is not there to be asked. Told step by step in a
// scripted world, as in conductor_test.
#include <gtest/gtest.h>

#include <utility>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

// Cyborg's API cannot be asked, and the word comes when a stage of a cleaning is being written to
// Redis: the survey that admitted the device is past.
struct CyborgUnasked : ::testing::Test {
  CyborgUnasked() : world(options()) {}
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = options.cyborg = true;
    options.cyborg_api = false;
    return options;
  }
  void clean_and_hear_at(Stage stage) {
    world.start_worker();
    world.pass(kMinuteMs);
    world.tenancy_begins();
    world.kick({0});
    world.pass(kMinuteMs);
    world.store.on_saved = [this, stage, checks = world.store.on_saved, told = false](
                               const Record& record, const JournalEntry& entry) mutable {
      checks(record, entry);
      if (record.stage == stage && !std::exchange(told, true)) hear();
    };
    world.tenancy_ends();
    world.kick({0});
    world.pass(2 * kMinuteMs);
    EXPECT_EQ(world.record().stage, Stage::error);
    EXPECT_EQ(world.record().arq, "arq-7");
    EXPECT_EQ(world.releases, 0U);
    EXPECT_EQ(world.failure.value_or(""), "");
  }
  void hear() {
    Slot& slot = world.slots.front();
    slot.arq = "arq-7";
    Arq& arq = world.cyborg.arq(slot.arq);
    arq.uuid = slot.arq;
    arq.state = ArqState::bound;
    arq.hostname = "compute-1";
    arq.address = slot.address;
    world.tell_arq(slot, "accelerator_request.bind.end");
  }
  World world;
};

TEST_F(CyborgUnasked, AnArqHeardWhileTheAdmissionIsRecordedKeepsTheDriveFromBeingErased) {
  clean_and_hear_at(Stage::guarding);
  EXPECT_EQ(world.erases, 0U);
}

// The device was looked at for the last time, and nothing was sent yet.
TEST_F(CyborgUnasked, AnArqHeardWhileTheReleaseIsRecordedWithholdsIt) {
  clean_and_hear_at(Stage::releasing);
  EXPECT_EQ(world.erases, 1U);
}

}  // namespace
}  // namespace reclaim::sim
