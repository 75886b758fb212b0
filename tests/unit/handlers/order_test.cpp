// Orders from a stream that all hosts may write to: who may say what, when, and how often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMinuteMs = 60'000;

struct Orders : ::testing::Test {
  Orders() {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  // Of now, by an operator, with a code that fits.
  [[nodiscard]] Order issued(const std::string& what) {
    Order order;
    order.order = what;
    order.address = to_string(world->slots[0].address);
    order.who = "alice@controller-1";
    order.request_id = "req-" + std::to_string(++issued_);
    order.issued_at = world->scheduler.now().wall;
    order.id = std::to_string(order.issued_at.ms) + "-0";
    order.mac = world->order_code;
    return order;
  }
  // What who issued it is told.
  std::string answer(const Order& order) {
    world->conductor->take(order);
    world->pass(kMinuteMs);
    const auto& answers = world->store.order_answers;
    const auto found = answers.find(order.request_id);
    return found == answers.end() ? "no answer" : found->second;
  }
  // A device in error, which an operator's `clean` brings back.
  void fail() {
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->drive().sanitize_ms = 30'000;
    world->tenancy_ends();
    world->kick({0});
    world->pass(10'000);
    EXPECT_EQ(answer(issued("abort")), "");
    EXPECT_EQ(world->record().stage, Stage::error);
    EXPECT_THAT(world->record().last_error, HasSubstr("alice@controller-1"));
  }

  int issued_ = 0;
  std::optional<World> world;
};

TEST_F(Orders, WhatBeginsOrEndsWorkIsTakenFromAnyoneWithAName) {
  fail();
  Order order = issued("clean");
  order.mac.clear();
  order.who.clear();
  EXPECT_THAT(answer(order), HasSubstr("does not say who"));
  EXPECT_EQ(world->record().stage, Stage::error);
  order = issued("clean");
  order.mac.clear();
  EXPECT_EQ(answer(order), "");
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available);
}

TEST_F(Orders, OneThatAcceptsSomethingHasToBeAuthenticated) {
  Order order = issued("enrol");
  for (const char* mac : {"", "of another key"}) {
    order.mac = mac;
    EXPECT_THAT(answer(order), HasSubstr("not authenticated: issue it as root on the host"));
  }
  EXPECT_EQ(world->releases, 0U);
  EXPECT_EQ(answer(issued("enrol")), "");
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U) << "it was cleaned for its baseline";
}

TEST_F(Orders, OneThatAcceptsSomethingIsHeardOnceThoughTheWorkerRestarts) {
  const Order order = issued("enrol");
  EXPECT_EQ(answer(order), "");
  world->pass(10 * kMinuteMs);
  ASSERT_EQ(world->releases, 1U);
  EXPECT_THAT(answer(order), HasSubstr("was carried out before"));
  world->kill_worker();
  world->start_worker();
  world->pass(kMinuteMs);
  Order again = order;
  again.id = std::to_string(world->scheduler.now().wall.ms) + "-0";
  EXPECT_THAT(answer(again), HasSubstr("was carried out before"));
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(answer(issued("enrol")), "") << "a later one is another one";
}

TEST_F(Orders, AnOldOneIsNotCarriedOut) {
  fail();
  const Order clean = issued("clean");
  const Order enrol = issued("enrol");
  world->pass(kOrderLifeMs + kMinuteMs);
  EXPECT_THAT(answer(clean), HasSubstr("more than 60 minutes ago"));
  // Put there again, so that the stream tells a time of now.
  Order again = enrol;
  again.id = std::to_string(world->scheduler.now().wall.ms) + "-0";
  EXPECT_THAT(answer(again), HasSubstr("within the last hour"));
  again.issued_at = WallMs{world->scheduler.now().wall.ms + 10 * kMinuteMs};
  EXPECT_THAT(answer(again), HasSubstr("within the last hour"));
  EXPECT_EQ(world->record().stage, Stage::error);
}

TEST_F(Orders, AKickIsNoOrder) {
  fail();
  for (const char* what : {"clean", "enrol", "maintenance_on"}) {
    Kick kick;
    kick.reason = "operator";
    kick.command = what;
    kick.address = to_string(world->slots[0].address);
    world->conductor->take(kick);
    world->pass(kMinuteMs);
  }
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_FALSE(world->record().maintenance);
}

TEST_F(Orders, WhatMeansNothingHereIsRefusedWithTheReason) {
  EXPECT_THAT(answer(issued("clean")), HasSubstr("nothing says that it is not clean"));
  EXPECT_THAT(answer(issued("format")), HasSubstr("'format' is not an order"));
  Order order = issued("abort");
  order.address = "0000:ee:00.0";
  EXPECT_THAT(answer(order), HasSubstr("no such device on this host"));
  order = issued("abort");
  order.request_id = std::string(10'000, 'x');
  EXPECT_EQ(answer(order), "no answer") << "no key is made of such a name";
}

}  // namespace
}  // namespace reclaim::sim
