// What a device's life leaves in the audit journal, in a scripted world.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Audit : ::testing::Test {
  void begin() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 1;
    world.emplace(options);
    world->conductor_options.survey_interval_ms = survey_interval_ms;
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

  std::int64_t survey_interval_ms = kMinuteMs;
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

// By the close watch, long before a survey looks, or by a survey that comes first.
TEST_F(Audit, AReleaseByAnotherHandIsTold) {
  begin();
  world->drive().steps_end_with = Errc::failed;
  leave();
  world->pass(5 * kMinuteMs);
  for (int times = 1; times <= 4; ++times) {
    world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
    if (times % 2 == 0) world->kick({0});
    world->pass(5 * kMinuteMs);
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    const auto events = told();
    EXPECT_EQ(std::count(events.begin(), events.end(), "released_elsewhere"), times);
    EXPECT_EQ(std::count(events.begin(), events.end(), "reserved_again"), times);
  }
}

TEST_F(Audit, WhatItsPolicyTakesOutOfThePoolNobodyOffered) {
  WorldOptions options;
  options.scripted = options.trace = true;
  options.scripted_slots = 1;
  world.emplace(options);
  world->slots.front().action = nvme::ClearAction::sanitize;
  world->drive().capabilities.sanicap = 0;
  world->start_worker();
  world->pass(5 * kMinuteMs);
  ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
  ASSERT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(world->log.text,
              AllOf(HasSubstr("is taken out of the pool, because its policy cannot be satisfied"),
                    Not(HasSubstr("find out who un-reserved it"))));
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

// On a host without a key of orders, from whoever may write them.
struct Flooded : Audit {
  [[nodiscard]] Order order(const std::string& what, const std::string& who) {
    Order made;
    made.order = what;
    made.address = to_string(world->record().address);
    made.who = who;
    made.issued_at = world->scheduler.now().wall;
    made.id = std::to_string(made.issued_at.ms) + "-0";
    return made;
  }
  [[nodiscard]] Order proven(const std::string& what, const std::string& who) {
    Order made = order(what, who);
    made.mac = world->order_code;
    return made;
  }
  void flood(int orders) {
    for (int i = 0; i < orders; ++i) {
      world->conductor->take(
          order(i % 2 == 0 ? "maintenance_on" : "maintenance_off", "number " + std::to_string(i)));
      world->pass(500);
    }
  }
  [[nodiscard]] std::ptrdiff_t told_of(const std::string& words) const {
    return std::count_if(
        world->disk.audit.begin(), world->disk.audit.end(),
        [&](const AuditEntry& each) { return each.detail.find(words) != std::string::npos; });
  }
};

TEST_F(Flooded, TheJournalCountsAndTellsTheLastOne) {
  begin();
  world->disk.audit.clear();
  flood(60);
  ASSERT_EQ(told().size(), 31U);
  EXPECT_THAT(
      world->disk.audit.back().detail,
      AllOf(HasSubstr("the others of this minute are only counted"), HasSubstr("number 30")))
      << "so that the chain says it though the worker is killed";
  world->pass(3 * kMinuteMs);
  ASSERT_EQ(told().size(), 32U);
  EXPECT_THAT(world->disk.audit.back().detail, HasSubstr("29 more within a minute, the last: "));
  EXPECT_THAT(world->disk.audit.back().detail, HasSubstr("number 59"));
}

TEST_F(Flooded, TheCountIsToldWhenTheMinuteIsOverThoughNoSurveyIsMade) {
  survey_interval_ms = kHourMs;
  begin();
  world->disk.audit.clear();
  flood(40);
  ASSERT_EQ(told_of("more within a minute"), 0);
  world->placement.set_away(true);  // no survey is gone through
  world->pass(kMinuteMs);
  EXPECT_EQ(told_of("9 more within a minute"), 1);
}

TEST_F(Flooded, EachOrderThatIsProvenIsToldByName) {
  begin();
  world->disk.audit.clear();
  flood(36);
  for (int i = 0; i < 33; ++i) {
    const std::string who = fmt::format("root-{:02}@vm", i);
    world->conductor->take(proven(i % 2 == 0 ? "maintenance_on" : "maintenance_off", who));
    world->pass(500);
  }
  world->pass(10'000);
  for (int i = 0; i < 33; ++i) {
    EXPECT_EQ(told_of(fmt::format("operator root-{:02}@vm", i)), 1) << i;
  }
}

// Of each kind that an order leaves in the journal.
TEST_F(Flooded, AnAbortAndAnEnrolmentAreToldByName) {
  begin();
  world->command("maintenance_on", world->record().address);
  leave();
  world->pass(kMinuteMs);
  world->disk.audit.clear();
  for (int i = 0; i < 40; ++i) {
    world->conductor->take(order("abort", "mallory"));
    world->pass(500);
    world->conductor->take(order("clean", "mallory"));
    world->pass(500);
  }
  EXPECT_EQ(told_of("said to be by 'mallory'"), 31);
  world->conductor->take(proven("abort", "root@vm"));
  world->pass(500);
  EXPECT_EQ(told_of("operator root@vm"), 1);
  world->conductor->take(proven("maintenance_off", "root@vm"));
  world->pass(1'000);
  Order enrol = proven("enrol", "root@vm");
  world->name_drive(world->slots[0], enrol);
  world->slots[0].ordered_serial = world->drive().serial;
  world->slots[0].enrolled = true;
  world->conductor->take(enrol);
  world->pass(1'000);
  const AuditEntry& last = world->disk.audit.back();
  EXPECT_EQ(last.event, AuditEvent::enrolled);
  EXPECT_THAT(last.detail, HasSubstr("operator root@vm"));
}

// Who may write orders copies one from there.
TEST_F(Flooded, ACopyOfAnOrderProvesNothing) {
  begin();
  world->disk.audit.clear();
  Order once = proven("maintenance_on", "root@vm");
  for (int i = 0; i < 60; ++i) {
    once.id = fmt::format("{}-{}", once.issued_at.ms, i);  // Redis gives each its own
    world->conductor->take(once);
    world->pass(100);
  }
  EXPECT_EQ(told_of("operator root@vm"), 1);
  EXPECT_GT(told_of("said to be by 'root@vm'"), 1);
}

}  // namespace
}  // namespace reclaim::sim
