// What is learnt of a device that does not move: note() of the reducer.
#include <gtest/gtest.h>

#include "state/device/step.h"

namespace reclaim {
namespace {

Record at(Stage stage) {
  Record record;
  record.stage = stage;
  record.epoch = 7;
  return record;
}

TEST(Note, MovesNothing) {
  for (std::size_t stage = 0; stage < kStageCount; ++stage) {
    const Record record = at(static_cast<Stage>(stage));
    Note learnt;
    learnt.waiting_for = "a guest has it";
    const Record noted = note(record, learnt);
    EXPECT_EQ(noted.stage, record.stage);
    EXPECT_EQ(noted.epoch, record.epoch);
    EXPECT_EQ(noted.waiting_for, "a guest has it");
  }
}

// What admission or a guard said stands until they say otherwise.
TEST(Note, KeepsWhyADeviceIsPending) {
  for (const Stage stage : {Stage::pending_cleaning, Stage::error}) {
    Record record = at(stage);
    record.waiting_for = "its driver is not bound yet";
    const bool kept = stage == Stage::pending_cleaning;
    EXPECT_EQ(note(record, Note{}).waiting_for, kept ? record.waiting_for : "");
  }
}

TEST(Note, ASerialIsLearntOnce) {
  Record record = at(Stage::available);
  Note learnt;
  learnt.facts.serial = "S2";
  EXPECT_EQ(note(record, learnt).serial, "S2");
  record.serial = "S1";
  EXPECT_EQ(note(record, learnt).serial, "S1");
}

TEST(Note, TheTenantOfADeviceThatIsFreeIsNotExchanged) {
  Record record = at(Stage::pending_cleaning);
  record.instance = "one";
  record.instance_source = InstanceSource::allocation;
  Note learnt;
  learnt.facts.name_tenant("another", InstanceSource::allocation);
  learnt.facts.project = "p";
  EXPECT_EQ(note(record, learnt).instance, "one");
  EXPECT_EQ(note(record, learnt).project, "");
  learnt.facts.instance = "one";
  EXPECT_EQ(note(record, learnt).project, "p");
  record.stage = Stage::allocated;
  learnt.facts.instance = "another";
  EXPECT_EQ(note(record, learnt).instance, "another");
  EXPECT_EQ(note(record, learnt).project, "p");
}

TEST(Note, OnlyADeviceThatSomebodyMayHaveHasARequest) {
  Note learnt;
  learnt.facts.arq = "arq";
  EXPECT_EQ(note(at(Stage::available), learnt).arq, "");
  EXPECT_EQ(note(at(Stage::allocated), learnt).arq, "arq");
}

}  // namespace
}  // namespace reclaim
