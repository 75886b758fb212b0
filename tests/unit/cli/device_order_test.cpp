// What an order means for a device as its record stands.
#include "cli/device_order.h"

#include <gmock/gmock.h>

#include "handlers/survey/admission.h"
#include "handlers/survey/cyborg_remarks.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;

Record in(Stage stage) {
  Record record;
  record.address = *parse_pci_address("0000:01:00.0");
  record.stage = stage;
  return record;
}

TEST(DeviceOrder, WhatTheWorkerWouldIgnoreIsToldAtOnce) {
  EXPECT_FALSE(refusal_of(OrderKind::clean, false, in(Stage::error)));
  EXPECT_THAT(refusal_of(OrderKind::clean, false, in(Stage::available))->what,
              HasSubstr("with --steps FILE"));
  EXPECT_FALSE(refusal_of(OrderKind::clean, true, in(Stage::available)));
  EXPECT_THAT(refusal_of(OrderKind::clean, true, in(Stage::erasing))->what,
              HasSubstr("is cleaning"));
  EXPECT_FALSE(refusal_of(OrderKind::abort, false, in(Stage::erasing)));
  EXPECT_FALSE(refusal_of(OrderKind::abort, false, in(Stage::pending_cleaning)));
  EXPECT_TRUE(refusal_of(OrderKind::abort, false, in(Stage::allocated)));
  EXPECT_TRUE(refusal_of(OrderKind::unhold, false, in(Stage::preparing)));
  EXPECT_TRUE(refusal_of(OrderKind::disown, false, in(Stage::verifying)));
  for (const Stage stage : {Stage::available, Stage::allocated, Stage::erasing, Stage::error}) {
    EXPECT_FALSE(refusal_of(OrderKind::maintenance_on, false, in(stage)));
  }
}

TEST(DeviceOrder, ANoteOfAFreeDeviceIsADoubtOrARemark) {
  Record record = in(Stage::available);
  record.waiting_for = "its counters cannot be read" + std::string(kCleanInDoubt);
  EXPECT_FALSE(refusal_of(OrderKind::clean, false, record));
  for (const std::string_view remark : {kLeakedArq, kSwitchAstray, kMaintenanceOver}) {
    record.waiting_for = remark;
    EXPECT_TRUE(refusal_of(OrderKind::clean, false, record)) << remark;
  }
}

TEST(DeviceOrder, RetiresADriveThatNobodyHas) {
  for (const Stage stage : {Stage::available, Stage::pending_cleaning, Stage::error}) {
    EXPECT_FALSE(refusal_of(OrderKind::retire, false, in(stage)));
  }
  EXPECT_THAT(refusal_of(OrderKind::retire, false, in(Stage::allocated))->what,
              HasSubstr("when the instance that has it is deleted"));
  EXPECT_THAT(refusal_of(OrderKind::retire, false, in(Stage::erasing))->what,
              HasSubstr("when its cleaning is over"));
  Record card = in(Stage::available);
  card.type = "GPU";
  EXPECT_THAT(refusal_of(OrderKind::retire, false, card)->what, HasSubstr("is no drive"));
  const Record before = in(Stage::available);
  Record now = in(Stage::error);
  now.epoch += 1;
  EXPECT_FALSE(has_acted(OrderKind::retire, before, now));
  now.retired = "destroyed: burnt";
  EXPECT_TRUE(has_acted(OrderKind::retire, before, now));
  now.last_error = "the drive says it did not erase; an operator asked to retire it";
  EXPECT_EQ(rest_of(OrderKind::retire, before, now), Rest::error);
  now.last_error = "erased, not returned: retired: destroyed: burnt";
  EXPECT_EQ(rest_of(OrderKind::retire, before, now), Rest::well);
}

TEST(DeviceOrder, HasActedWhenTheRecordShowsIt) {
  const Record before = in(Stage::error);
  Record now = before;
  EXPECT_FALSE(has_acted(OrderKind::clean, before, now));
  now.epoch += 1;
  EXPECT_TRUE(has_acted(OrderKind::clean, before, now));
  // A free device is in maintenance once it is off offer.
  now = in(Stage::available);
  now.provider = "p";
  now.maintenance = true;
  EXPECT_FALSE(has_acted(OrderKind::maintenance_on, before, now));
  now.held = true;
  EXPECT_TRUE(has_acted(OrderKind::maintenance_on, before, now));
  EXPECT_FALSE(has_acted(OrderKind::maintenance_off, before, now));
  // Nothing is reserved of one that is left to Cyborg's agent, that Placement does not know, or
  // where the worker only observes.
  now.held = false;
  now.provider = "p";
  EXPECT_FALSE(has_acted(OrderKind::maintenance_on, before, now));
  now.handed_over = true;
  EXPECT_TRUE(has_acted(OrderKind::maintenance_on, before, now));
  now.handed_over = false;
  now.waiting_for = "mode = observe: would reserve it, which is in maintenance";
  EXPECT_TRUE(has_acted(OrderKind::maintenance_on, before, now));
  now.provider.clear();
  now.waiting_for.clear();
  EXPECT_TRUE(has_acted(OrderKind::maintenance_on, before, now));
}

TEST(DeviceOrder, RestsWhenNothingGoesOnThatItBegan) {
  struct Case {
    OrderKind order;
    Stage stage;
    Rest rest;
  };
  for (const Case& one : {Case{OrderKind::clean, Stage::erasing, Rest::not_yet},
                          Case{OrderKind::clean, Stage::pending_cleaning, Rest::not_yet},
                          Case{OrderKind::clean, Stage::confirming, Rest::not_yet},
                          Case{OrderKind::clean, Stage::error, Rest::error},
                          Case{OrderKind::clean, Stage::available, Rest::well},
                          Case{OrderKind::clean, Stage::allocated, Rest::well},
                          Case{OrderKind::abort, Stage::error, Rest::well},
                          Case{OrderKind::maintenance_on, Stage::erasing, Rest::not_yet},
                          Case{OrderKind::maintenance_on, Stage::error, Rest::well},
                          Case{OrderKind::maintenance_on, Stage::pending_cleaning, Rest::well},
                          Case{OrderKind::maintenance_off, Stage::erasing, Rest::not_yet},
                          Case{OrderKind::maintenance_off, Stage::error, Rest::error},
                          Case{OrderKind::maintenance_off, Stage::available, Rest::well}}) {
    EXPECT_EQ(rest_of(one.order, in(Stage::allocated), in(one.stage)), one.rest)
        << to_string(one.order) << ' ' << to_string(one.stage);
  }
  // What waits for an operator rests, and what was in error before is no failure.
  Record now = in(Stage::pending_cleaning);
  now.maintenance = true;
  EXPECT_EQ(rest_of(OrderKind::clean, in(Stage::error), now), Rest::well);
  now = in(Stage::concluding);
  now.clean_step = "hold.signed_off";
  EXPECT_EQ(rest_of(OrderKind::clean, in(Stage::error), now), Rest::well);
  EXPECT_EQ(rest_of(OrderKind::maintenance_off, in(Stage::error), in(Stage::error)), Rest::well);
  EXPECT_TRUE(comes_later(OrderKind::maintenance_on, in(Stage::erasing)));
  EXPECT_FALSE(comes_later(OrderKind::abort, in(Stage::erasing)));
  EXPECT_FALSE(comes_later(OrderKind::maintenance_on, in(Stage::error)));
}

}  // namespace
}  // namespace reclaim::cli
