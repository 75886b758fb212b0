// What a device's life leaves in the audit journal, in a scripted world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Audit : ::testing::Test {
  void begin() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 1;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
    world->tenancy_begins(0);
    world->kick({0});
    world->pass(kMinuteMs);
  }
  void leave() {
    world->tenancy_ends(0);
    world->kick({0});
  }
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> events;
    for (const AuditEntry& entry : world->disk.audit) {
      events.emplace_back(to_string(entry.event));
      EXPECT_EQ(entry.address, to_string(world->record().address));
      EXPECT_GT(entry.at.ms, 0);
    }
    return events;
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  std::optional<World> world;
};

TEST_F(Audit, ATenancyIsToldFromItsBeginToItsEnd) {
  begin();
  EXPECT_THAT(told(), ElementsAre("tenancy_seen"));
  const std::string instance = world->record().instance;
  EXPECT_EQ(world->disk.audit[0].instance, instance);
  leave();
  world->pass(5 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
  // The erasure has its certificate.
  EXPECT_THAT(told(), ElementsAre("tenancy_seen", "tenancy_ended"));
  EXPECT_EQ(world->disk.audit[1].instance, instance);
}

TEST_F(Audit, AQuarantineIsToldWithItsReason) {
  begin();
  world->drive().steps_end_with = Errc::failed;
  leave();
  world->pass(5 * kMinuteMs);
  ASSERT_THAT(told(), ElementsAre("tenancy_seen", "tenancy_ended", "quarantined"));
  EXPECT_FALSE(world->disk.audit[2].detail.empty());
}

TEST_F(Audit, AReleaseByAnotherHandIsTold) {
  begin();
  world->drive().steps_end_with = Errc::failed;
  leave();
  world->pass(5 * kMinuteMs);
  for (int times = 1; times <= 2; ++times) {
    world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
    world->kick({0});
    world->pass(5 * kMinuteMs);
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    const auto events = told();
    EXPECT_EQ(std::count(events.begin(), events.end(), "released_elsewhere"), times);
    EXPECT_EQ(std::count(events.begin(), events.end(), "reserved_again"), times);
  }
}

TEST_F(Audit, EachOrderIsToldThoughAnotherFollowsAtOnce) {
  begin();
  world->drive().steps_end_with = Errc::failed;
  leave();
  world->pass(5 * kMinuteMs);
  world->disk.audit.clear();
  const PciAddress address = world->record().address;
  for (const char* order : {"maintenance_on", "maintenance_off", "maintenance_on"}) {
    world->command(order, address, std::string("of ") + order);
    world->pass(1'000);
  }
  // These are overruled before they are carried out.
  world->command("maintenance_off", address, "first");
  world->command("maintenance_on", address, "second");
  world->command("maintenance_off", address, "third");
  world->pass(1'000);
  std::string all;
  for (const AuditEntry& entry : world->disk.audit) all += entry.detail + "\n";
  EXPECT_EQ(told(), std::vector<std::string>(6, "maintenance")) << all;
  for (const char* who : {"first", "second", "third"}) EXPECT_THAT(all, HasSubstr(who));
}

TEST_F(Audit, EachQuarantineIsToldThoughItIsTheSame) {
  begin();
  world->command("maintenance_on", world->record().address);
  leave();
  world->pass(kMinuteMs);
  world->disk.audit.clear();
  // Within the pause between two surveys.
  world->kick({0});
  world->pass(300);
  for (std::size_t times = 1; times <= 3; ++times) {
    world->command("abort", world->record().address);
    world->pass(100);
    world->command("clean", world->record().address);
    world->pass(100);
    EXPECT_EQ(told(), std::vector<std::string>(times, "quarantined"));
  }
}

TEST_F(Audit, AFloodOfOrdersIsCountedAndItsLastOneTold) {
  begin();
  world->disk.audit.clear();
  const PciAddress address = world->record().address;
  constexpr int kOrders = 60;
  for (int i = 0; i < kOrders; ++i) {
    world->command(i % 2 == 0 ? "maintenance_on" : "maintenance_off", address,
                   "number " + std::to_string(i));
    world->pass(500);
  }
  EXPECT_EQ(told().size(), 30U);
  world->pass(3 * kMinuteMs);
  ASSERT_EQ(told().size(), 31U);
  EXPECT_THAT(world->disk.audit.back().detail, HasSubstr("30 more within a minute, the last: "));
  EXPECT_THAT(world->disk.audit.back().detail, HasSubstr("number 59"));
}

}  // namespace
}  // namespace reclaim::sim
