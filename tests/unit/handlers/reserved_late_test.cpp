// Nova's tracker writes what it read of a device before its release, once more after it: by one
// write, as an operator's hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

struct ReservedLate : ::testing::TestWithParam<bool> {  // whether the drive is managed
  void SetUp() override {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->slots[0].managed = GetParam();
    if (!GetParam()) world->drive().home = world->drive().driver = "vfio-pci";
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->tenancy_ends();
    world->drive().driver = world->drive().home;
    world->kick({0});
    for (int minute = 0; minute < 60 && world->record().stage != Stage::available; ++minute) {
      world->pass(kMinuteMs);
    }
    ASSERT_EQ(world->record().stage, Stage::available);
    ASSERT_EQ(world->provider().inventory.reserved, 0);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  void reserve() {
    world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
    world->pass(2 * kMinuteMs);
  }
  void expect_in_doubt() {
    EXPECT_TRUE(world->record().held);
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_THAT(world->record().waiting_for, StartsWith("reserved minutes after its release"));
    EXPECT_THAT(world->record().waiting_for, EndsWith(kCleanInDoubt));
  }
  // What an operator is told who issued it at that time.
  std::string clean_of(WallMs issued_at, const std::string& steps = "") {
    return answer_to("clean", issued_at, steps);
  }
  std::string answer_to(const std::string& kind, WallMs issued_at, const std::string& steps = "") {
    Order order;
    order.order = kind;
    order.steps = steps;
    order.address = to_string(world->slots[0].address);
    order.who = "alice@controller-1";
    order.serial = kind == "enrol" ? world->drive().serial : "";
    order.reason = kind == "clean" ? "" : "it is worn";
    order.purpose = kind == "retire" ? "destroyed" : "";
    order.request_id = "req-" + std::to_string(issued_at.ms);
    order.issued_at = issued_at;
    order.id = std::to_string(issued_at.ms) + "-0";
    order.mac = world->order_code;
    world->conductor->take(order);
    world->pass(kMinuteMs);
    return world->store.order_answers.at(order.request_id);
  }
  std::optional<World> world;
};

TEST_P(ReservedLate, RightAfterAReleaseIsTakenForAHoldInDoubtUntilAnOperatorEndsIt) {
  reserve();
  expect_in_doubt();
  int claims = 0;
  world->drives->on_claim = [&claims](const PciAddress&) { claims += 1; };
  world->pass(kHourMs);
  EXPECT_EQ(claims, 0) << "its counters were read already";
  world->kill_worker();
  world->start_worker();
  world->pass(kHourMs);
  expect_in_doubt();
  EXPECT_EQ(world->erases, 1U);

  EXPECT_EQ(clean_of(world->scheduler.now().wall), "");
  world->pass(kHourMs);
  EXPECT_EQ(world->erases, 2U);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

// Whoever issued it, when it was on offer or before, knew nothing of the hold.
TEST_P(ReservedLate, IsAHoldThatNoOlderOrderEnds) {
  const WallMs before{world->record().certificate_at.ms + 1};
  world->pass(3 * kMinuteMs);
  reserve();
  expect_in_doubt();
  const auto outdated = StartsWith("it was reserved after the order was issued");
  EXPECT_THAT(clean_of(before), outdated);
  EXPECT_THAT(clean_of(WallMs{before.ms - 2}, R"([{"interface":"nvme","step":"erase"}])"),
              outdated);
  world->pass(kHourMs);
  expect_in_doubt();
  EXPECT_EQ(world->erases, 1U);
}

TEST_P(ReservedLate, StaysInDoubtWhateverElseIsRefused) {
  reserve();
  for (const auto& [kind, why] : {std::pair{"enrol", "an operator holds it"},
                                  std::pair{"unhold", "it does not wait at a hold"},
                                  std::pair{"retire", "an operator holds it"},
                                  std::pair{"disown", "a device_spec entry still matches it"}}) {
    EXPECT_THAT(answer_to(kind, world->scheduler.now().wall), StartsWith(why));
    expect_in_doubt();
  }
  EXPECT_EQ(clean_of(world->scheduler.now().wall), "");
}

TEST_P(ReservedLate, HoursAfterAReleaseIsAnOperators) {
  world->pass(kHourMs);
  reserve();
  EXPECT_TRUE(world->record().held);
  EXPECT_EQ(world->record().waiting_for, "");
  world->pass(kHourMs);
  EXPECT_EQ(world->record().waiting_for, "");
}

TEST_P(ReservedLate, ThatWasAnOperatorsAfterAllEndsWhenHeUnReservesIt) {
  reserve();
  expect_in_doubt();
  world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  world->pass(kHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_FALSE(world->record().held);
  EXPECT_EQ(world->record().waiting_for, "");
  EXPECT_EQ(world->provider().inventory.reserved, 0);
}

INSTANTIATE_TEST_SUITE_P(Managed, ReservedLate, ::testing::Bool());

}  // namespace
}  // namespace reclaim::sim
