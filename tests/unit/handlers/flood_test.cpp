// What anybody may send many times a second (orders, kicks, notifications of ARQs) does not keep
// the worker from seeing that an instance has a device, nor that it has left it dirty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Values;

// Shorter than a survey takes.
constexpr std::int64_t kApartMs = 15;
constexpr std::int64_t kSeenWithinMs = 10'000;

struct Host {
  Host(bool cyborg, bool managed) : world(scripted(cyborg)) {
    world.conductor_options.full_survey_interval_ms = kDayMs;
    Slot& slot = world.slots.front();
    slot.managed = managed;
    if (!managed) world.drive().home = world.drive().driver = "vfio-pci";
    world.start_worker();
    world.pass(2 * kMinuteMs);
  }
  static WorldOptions scripted(bool cyborg) {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.cyborg = cyborg;
    options.cyborg_api = false;
    return options;
  }
  // From now on, until it is set to nothing.
  void begin(std::function<void(int turn)> sends) {
    flood = std::move(sends);
    send(0);
  }
  void send(int turn) {
    if (!flood) return;
    flood(turn);
    world.scheduler.outside(kApartMs, [this, turn] { send(turn + 1); });
  }
  void order(const std::string& what) { world.command(what, world.slots.front().address); }

  World world;
  std::function<void(int)> flood;
};

void give_maintenance_orders(Host& host) {
  host.begin(
      [&host](int turn) { host.order(turn % 2 == 0 ? "maintenance_off" : "maintenance_on"); });
}

struct Flood : ::testing::TestWithParam<std::tuple<bool, bool>> {
  Flood() : host(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
  void TearDown() override { EXPECT_EQ(host.world.failure.value_or(""), ""); }

  void expect_a_tenancy_is_seen() {
    World& world = host.world;
    world.tenancy_begins();
    world.pass(kSeenWithinMs);
    EXPECT_EQ(world.record().stage, Stage::allocated);
    EXPECT_EQ(world.provider().inventory.reserved, 1);
    world.tenancy_ends();
    world.pass(kSeenWithinMs);
    const bool dirty_on_offer =
        world.drive().owner != 0 && world.provider().inventory.reserved == 0;
    EXPECT_FALSE(dirty_on_offer);
    host.flood = nullptr;
    host.order("maintenance_off");
    world.pass(kHourMs);
    EXPECT_EQ(world.record().stage, Stage::available);
    EXPECT_EQ(world.provider().inventory.reserved, 0);
    EXPECT_EQ(world.drive().owner, 0U);
    EXPECT_EQ(world.erases, 1U);
  }
  Host host;
};

TEST_P(Flood, OfMaintenanceHidesNoTenancy) {
  give_maintenance_orders(host);
  expect_a_tenancy_is_seen();
}

TEST_P(Flood, OfOrdersThatContradictEachOtherHidesNoTenancy) {
  host.begin([this](int turn) {
    constexpr std::array kOrders{"clean", "abort", "maintenance_on", "maintenance_off"};
    const std::string what = kOrders.at(static_cast<std::size_t>(turn) % kOrders.size());
    // What was aborted waits for an operator, and gets it in the end.
    host.order(what == "abort" && host.world.record().stage != Stage::available ? "clean" : what);
  });
  expect_a_tenancy_is_seen();
}

TEST_P(Flood, OfKicksHidesNoTenancy) {
  host.begin([this](int turn) {
    if (turn % 2 == 0) return host.world.kick({0, 5});
    host.order("cleanup_device");
  });
  expect_a_tenancy_is_seen();
}

INSTANTIATE_TEST_SUITE_P(Flows, Flood, Combine(Values(false, true), Values(false, true)));

// A device whose cleanings are ordered and aborted many times a second stays reserved, and an
// allocation that somebody makes all the same is told of.
TEST(FloodOfAborts, HidesNobodyWhoHasIt) {
  Host host(false, true);
  World& world = host.world;
  world.drive().guarded = true;
  world.tenancy_begins();
  world.kick({0});
  world.pass(kMinuteMs);
  world.tenancy_ends();
  world.kick({0});
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::pending_cleaning);
  host.begin([&host](int turn) { host.order(turn % 2 == 0 ? "abort" : "clean"); });
  world.placement.set_reserved_by(Offered::by_operator, world.provider().row.uuid, 0);
  world.tenancy_begins();
  world.pass(kSeenWithinMs);
  EXPECT_THAT(world.log.text, HasSubstr("a tenant has got a drive that is not known"));
  host.flood = nullptr;
}

TEST(FloodOfArqs, HidesNoTenancy) {
  Host host(true, true);
  World& world = host.world;
  Slot& slot = world.slots.front();
  world.tenancy_begins();
  host.begin([&](int turn) {
    world.tell_arq(
        slot, turn % 2 == 0 ? "accelerator_request.bind.end" : "accelerator_request.bind.start");
  });
  world.pass(kSeenWithinMs);
  EXPECT_EQ(world.record().stage, Stage::allocated);
  EXPECT_EQ(world.provider().inventory.reserved, 1);
  host.flood = nullptr;
  world.tenancy_ends();
  world.pass(kHourMs);
  EXPECT_EQ(world.drive().owner, 0U);
}

// A drive that is never closed again: looks at it tell old counters, and do not count.
TEST(DriveThatIsNeverClosed, IsReservedForWhoHasItAndToldOf) {
  Host host(true, true);
  World& world = host.world;
  world.drives->drops_hang = true;
  world.tenancy_begins();
  world.kick({0});
  world.pass(kMinuteMs);
  world.tenancy_ends();
  world.kick({0});
  world.pass(2 * kMinuteMs);
  ASSERT_EQ(world.record().stage, Stage::available);
  world.tenancy_begins();
  world.kick({0});
  world.pass(kSeenWithinMs);
  EXPECT_EQ(world.provider().inventory.reserved, 1);
  EXPECT_THAT(world.log.text, Not(HasSubstr("no look at it has counted")));
  world.pass(10 * kMinuteMs);
  EXPECT_THAT(world.log.text, HasSubstr("ERROR reclaim.conductor 0000:c1:00.0: no look at it"));
  EXPECT_THAT(world.record().waiting_for, HasSubstr("no look at it has counted"));
}

// Each of them is carried out all the same, and none of them waits for long.
TEST(FloodOfOrders, IsCarriedOutBehindTheLooks) {
  Host host(false, true);
  give_maintenance_orders(host);
  host.world.pass(kMinuteMs);
  host.flood = nullptr;
  host.order("maintenance_on");
  host.world.pass(kSeenWithinMs);
  EXPECT_TRUE(host.world.record().maintenance);
  EXPECT_EQ(host.world.provider().inventory.reserved, 1);
}

}  // namespace
}  // namespace reclaim::sim
