// Orders from a stream that all hosts may write to: who may say what, when, and how often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "handlers/conductor/conductor.h"
#include "state/device/hold.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Orders : ::testing::Test {
  explicit Orders(bool managed = true, bool ours = true) {
    WorldOptions options;
    options.scripted = true;
    world.emplace(options);
    world->slots[0].managed = managed;
    world->slots[0].ours = ours;
    if (!managed) world->drive().home = world->drive().driver = "vfio-pci";
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
    order.id = std::to_string(order.issued_at.ms) + "-" + std::to_string(issued_);
    order.mac = world->order_code;
    const Record* stored = world->store.stored(world->slots[0].address);
    if (what == "unhold" && stored != nullptr) order.hold = hold_id(*stored);
    world->slots[0].maintained |= what == "maintenance_on";
    if (accepts_something(order)) {
      world->name_drive(world->slots[0], order);
      world->slots[0].expected_serial = world->drive().serial;
    }
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
  void erase_begins() {
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->drive().sanitize_ms = 30'000;
    world->tenancy_ends();
    world->kick({0});
    world->pass(10'000);
  }
  // A device in error, which an operator's `clean` brings back.
  void fail() {
    erase_begins();
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

// Issued while the worker did not answer, behind the abort that it found when it did.
TEST_F(Orders, AnErrorThatItsSenderDidNotKnowOfStands) {
  erase_begins();
  const Order before = issued("clean");
  world->pass(1'000);
  EXPECT_EQ(answer(issued("abort")), "");
  EXPECT_THAT(answer(before), HasSubstr("came into error after"));
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
  EXPECT_THAT(answer(order), HasSubstr("was judged before"));
  world->kill_worker();
  world->start_worker();
  world->pass(kMinuteMs);
  Order again = order;
  again.id = std::to_string(world->scheduler.now().wall.ms) + "-0";
  EXPECT_THAT(answer(again), HasSubstr("was judged before"));
  EXPECT_EQ(world->releases, 1U);
  EXPECT_EQ(answer(issued("enrol")), "") << "a later one is another one";
}

// Somebody who may write to the stream puts it back, when it would pass.
TEST_F(Orders, OneThatWasRefusedIsUsedUpToo) {
  const Order early = issued("unhold");
  EXPECT_THAT(answer(early), HasSubstr("hold"));
  for (const bool restart : {false, true}) {
    if (restart) {
      world->kill_worker();
      world->start_worker();
      world->pass(kMinuteMs);
    }
    Order again = early;
    again.id = std::to_string(world->scheduler.now().wall.ms) + "-0";
    EXPECT_THAT(answer(again), HasSubstr("was judged before"));
  }
  EXPECT_THAT(answer(issued("unhold")), Not(HasSubstr("was judged before")));
}

struct OrdersOfWhatIsNotReclaims : Orders {
  OrdersOfWhatIsNotReclaims() : Orders(true, false) {}
};

// The device may be listed within the order's hour.
TEST_F(OrdersOfWhatIsNotReclaims, AreUsedUpWhenTheyAreRefused) {
  Order order = issued("unhold");
  EXPECT_THAT(answer(order), HasSubstr("hold"));
  for (const bool restart : {false, true}) {
    if (restart) {
      world->kill_worker();
      world->start_worker();
      world->pass(kMinuteMs);
    }
    order.id = std::to_string(world->scheduler.now().wall.ms) + "-0";
    EXPECT_THAT(answer(order), HasSubstr("was judged before"));
  }
  EXPECT_EQ(world->erases, 0U);
  EXPECT_FALSE(world->record().cleanable());
}

TEST_F(Orders, WhereAKeyIsConfiguredEachHasToBeAuthenticated) {
  world->orders_are_sealed = true;
  world->reload();
  fail();
  Order order = issued("clean");
  order.mac.clear();
  EXPECT_THAT(answer(order), HasSubstr("not authenticated"));
  EXPECT_EQ(world->record().stage, Stage::error);
  order = issued("clean");
  EXPECT_EQ(answer(order), "");
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_THAT(answer(order), HasSubstr("was judged before"));
  order = issued("maintenance_on");
  order.mac = "of another key";
  EXPECT_THAT(answer(order), HasSubstr("not authenticated"));
  EXPECT_FALSE(world->record().maintenance);
}

// A full disk keeps nothing from being stopped.
TEST_F(Orders, WhatOnlyStopsIsCarriedOutThoughTheLedgerCannotBeWritten) {
  world->orders_are_sealed = true;
  world->reload();
  fail();
  world->drive().sanitize_ms = 10 * kMinuteMs;
  EXPECT_EQ(answer(issued("clean")), "");
  ASSERT_EQ(world->record().stage, Stage::erasing);
  world->disk.full = true;
  EXPECT_EQ(answer(issued("abort")), "");
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_THAT(answer(issued("enrol")), HasSubstr("disk full"));
  world->disk.full = false;
}

// The journal is signed: it does not say who did it where nobody knows.
TEST_F(Orders, ANameThatNothingProvesIsMarked) {
  fail();
  EXPECT_THAT(world->record().last_error, HasSubstr("operator alice@controller-1"));
  world->drive().sanitize_ms = 10 * kMinuteMs;
  EXPECT_EQ(answer(issued("clean")), "");
  Order forged = issued("abort");
  forged.mac.clear();
  EXPECT_EQ(answer(forged), "");
  ASSERT_EQ(world->record().stage, Stage::error);
  EXPECT_THAT(world->record().last_error, AllOf(HasSubstr("said to be by 'alice@controller-1'"),
                                                Not(HasSubstr("operator alice"))));
}

// Where such a name ends is seen, whatever it says.
TEST_F(Orders, ANameThatNothingProvesIsQuoted) {
  fail();
  world->drive().sanitize_ms = 10 * kMinuteMs;
  EXPECT_EQ(answer(issued("clean")), "");
  Order forged = issued("abort");
  forged.mac.clear();
  forged.who = "x'; operator alice@ops";
  EXPECT_EQ(answer(forged), "");
  EXPECT_THAT(world->record().last_error, HasSubstr(R"(said to be by 'x\'; operator alice@ops')"));
}

// So is the certificate.
TEST_F(Orders, OnlyAnAuthenticatedOneHasItsRequestIdInTheCertificate) {
  constexpr const char* kId = "req-1e573275-fd6a-4837-aa76-e1f0577fd123";
  struct Case {
    const char* id;
    bool is_proven;
    const char* sealed;
  };
  const Case cases[] = {{kId, true, kId},
                        {kId, false, ""},
                        {"req-approved by operator root@vm", false, ""},
                        {"req-approved by operator root@vm", true, ""},
                        {"1e573275-fd6a-4837-aa76-e1f0577fd123", true, ""},
                        {"req-1e573275-fd6a-4837-aa76-e1f0577fd123\n", true, ""}};
  for (const Case& each : cases) {
    fail();  // by an operator's order, whose id is none of the next one's
    world->drive().sanitize_ms = 1'000;
    Order order = issued("clean");
    order.request_id = each.id;
    if (!each.is_proven) order.mac.clear();
    EXPECT_EQ(answer(order), "");
    world->pass(10 * kMinuteMs);
    ASSERT_EQ(world->record().stage, Stage::available);
    const auto sealed =
        decode_certificate(world->disk.certificates.at(world->record().certificate_id));
    ASSERT_TRUE(sealed) << sealed.error().what;
    EXPECT_EQ(sealed->request_id, each.sealed) << each.id << (each.is_proven ? "" : ", unproven");
  }
}

// Who may write orders could keep drives out of the pool for good.
TEST_F(Orders, MaintenanceThatNobodyProvedEndsWithADayOrAStart) {
  constexpr std::int64_t kDayMs = 24 * kHourMs;
  const auto begin = [this](bool is_proven) {
    Order order = issued("maintenance_on");
    if (!is_proven) order.mac.clear();
    EXPECT_EQ(answer(order), "");
    EXPECT_TRUE(world->record().maintenance);
  };
  const auto start_again = [this] {
    world->kill_worker();
    world->start_worker();
    world->pass(10 * kMinuteMs);
  };
  begin(false);
  world->pass(kDayMs - kHourMs);
  EXPECT_TRUE(world->record().maintenance);
  world->pass(2 * kHourMs);
  EXPECT_FALSE(world->record().maintenance);
  begin(false);
  start_again();
  EXPECT_FALSE(world->record().maintenance);
  begin(true);
  begin(false);  // and somebody says the same
  world->pass(2 * kDayMs);
  start_again();
  EXPECT_TRUE(world->record().maintenance);
  EXPECT_EQ(answer(issued("maintenance_off")), "");
  EXPECT_FALSE(world->record().maintenance);
}

// -------------------------------------------------------------------------------------------------
// What an operator reserved by hand is his: no other order erases it.

struct OrdersOfAHeldDevice : Orders {
  OrdersOfAHeldDevice() {
    world->tenancy_begins();
    world->kick({0});
    world->pass(kMinuteMs);
    world->tenancy_ends();
    world->kick({0});
    world->pass(10 * kMinuteMs);
    world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
    world->slots[0].reserved_by_hand = world->slots[0].held = true;
  }
};

TEST_F(OrdersOfAHeldDevice, DoNotCleanIt) {
  world->pass(3 * kMinuteMs);
  ASSERT_TRUE(world->record().held);
  EXPECT_THAT(answer(issued("clean")), HasSubstr("nothing says that it is not clean"));
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->erases, 1U);
}

TEST_F(OrdersOfAHeldDevice, DoNotEnrolItThoughNoSurveyHasSeenTheHold) {
  EXPECT_THAT(answer(issued("enrol")), HasSubstr("shows it reserved or taken"));
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->erases, 1U);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

// -------------------------------------------------------------------------------------------------
// One after another, and none without a word.

// `enrol` waits for the ledger.
TEST_F(Orders, ForOneDeviceAreCarriedOutInTheOrderGiven) {
  fail();
  world->conductor->take(issued("enrol"));
  world->conductor->take(issued("abort"));
  world->pass(10 * kMinuteMs);
  EXPECT_TRUE(world->record().accepted);
  EXPECT_EQ(world->record().stage, Stage::error) << "the abort came last";
  EXPECT_EQ(world->releases, 0U);
}

// The worker was started again, and has seen nothing yet.
// All who have the fleet's Redis can write them, faster than records are made durable.
TEST_F(Orders, InAFloodAreRefusedInsteadOfDelayingWhatComesAfter) {
  fail();
  std::vector<Order> flood;
  for (int i = 0; i < 1'000; ++i) {
    flood.push_back(issued(i % 2 == 0 ? "clean" : "abort"));
    world->conductor->take(flood.back());
  }
  world->pass(5'000);
  const auto refused = std::count_if(flood.begin(), flood.end(), [this](const Order& order) {
    return world->store.order_answers.at(order.request_id).find("wait for it already") !=
           std::string::npos;
  });
  EXPECT_GT(refused, 950);
  EXPECT_LT(refused, 1'000);
  EXPECT_EQ(answer(issued("clean")), "");
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().stage, Stage::available);
}

struct OrdersOfAStart : Orders {
  OrdersOfAStart() {
    fail();
    world->kill_worker();
    world->placement.set_away(true);
    world->start_worker();
    world->pass(1'000);
  }
  // As the daemon does.
  Order through_the_stream(const std::string& what) {
    const Order order = issued(what);
    const std::string host = world->conductor_options.host;
    world->store.push_order(host, order, [](const Result<Ok>&) {});
    world->store.take_orders(host, 10, [this](Result<std::vector<Order>> orders) {
      for (const Order& one : *orders) world->conductor->take(one);
    });
    world->pass(1'000);
    return order;
  }
  std::string told(const Order& order) {
    const auto found = world->store.order_answers.find(order.request_id);
    return found == world->store.order_answers.end() ? "nothing" : found->second;
  }
};

TEST_F(OrdersOfAStart, WaitInTheOrderGiven) {
  const Order enrol = through_the_stream("enrol");
  const Order abort = through_the_stream("abort");
  EXPECT_EQ(told(enrol), "nothing");
  world->placement.set_away(false);
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(told(enrol), "");
  EXPECT_EQ(told(abort), "");
  EXPECT_TRUE(world->record().accepted);
  EXPECT_EQ(world->record().stage, Stage::error) << "the abort came last";
}

TEST_F(OrdersOfAStart, AreToldWhenTheWorkerDies) {
  const Order order = through_the_stream("enrol");
  world->kill_worker();
  world->placement.set_away(false);
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_THAT(told(order), HasSubstr("the worker ended before it answered"));
  EXPECT_FALSE(world->record().accepted);
  world->store.order_answers.clear();
  world->kill_worker();
  world->start_worker();
  world->pass(kMinuteMs);
  EXPECT_EQ(told(order), "nothing") << "once";
}

TEST_F(OrdersOfAStart, AreToldWhenTheWorkerIsStopped) {
  const Order order = through_the_stream("enrol");
  world->stop_worker();
  world->pass(1'000);
  EXPECT_THAT(told(order), HasSubstr("told to stop before it was carried out; issue it again"));
}

// -------------------------------------------------------------------------------------------------
// Which drive an order accepts.

struct OrdersOfAnyDrive : Orders, ::testing::WithParamInterface<bool> {
  OrdersOfAnyDrive() : Orders(GetParam()) {}
  // Another drive is put into the slot, with somebody's data on it.
  void exchange(const std::string& name) {
    Drive& drive = world->drive();
    drive.serial = name;
    drive.hardware.serial_number = "dsn-" + name;
    write_media(drive, 4711, 1);
  }
  [[nodiscard]] bool untouched() { return world->drive().owner == 4711; }
  [[nodiscard]] std::size_t refusals() const {
    std::size_t count = 0;
    for (const AuditEntry& entry : world->disk.audit) {
      count += entry.event == AuditEvent::enrol_refused ? 1 : 0;
    }
    return count;
  }
  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
};

TEST_P(OrdersOfAnyDrive, AcceptTheDriveTheyName) {
  exchange("new");
  look();
  EXPECT_EQ(answer(issued("enrol")), "");
  world->pass(10 * kMinuteMs);
  EXPECT_FALSE(untouched());
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->record().serial, "new");
  EXPECT_EQ(refusals(), 0U);
}

TEST_P(OrdersOfAnyDrive, AcceptNoDriveThatWasPutThereSince) {
  exchange("looked-at");
  look();
  const Order order = issued("enrol");
  exchange("unknown");
  look();
  const std::string name = GetParam() ? "serial 'looked-at'" : "'dsn=dsn-looked-at'";
  EXPECT_THAT(answer(order), AllOf(HasSubstr("the order accepts"), HasSubstr(name),
                                   HasSubstr("check it, then issue the order again")));
  EXPECT_EQ(refusals(), 1U);
  world->pass(10 * kMinuteMs);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(world->provider().inventory.reserved, 1);
  EXPECT_EQ(answer(issued("enrol")), "");
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->record().serial, "unknown");
}

// No survey saw the exchange: the drive that the claim opens is compared.
TEST_P(OrdersOfAnyDrive, AcceptNoDriveThatIsPutThereBeforeItIsClaimed) {
  exchange("looked-at");
  look();
  world->drive().guarded = true;
  EXPECT_EQ(answer(issued("enrol")), "");
  ASSERT_EQ(world->record().stage, Stage::pending_cleaning);
  world->drives->on_claim = [this](const PciAddress&) { exchange("unknown"); };
  world->drive().guarded = false;
  world->pass(10 * kMinuteMs);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(world->record().stage, Stage::error);
  EXPECT_EQ(world->provider().inventory.reserved, 1);
}

// Here for the first survey of a worker that was started again.
TEST_P(OrdersOfAnyDrive, AcceptNoDriveThatIsPutThereWhileTheyWait) {
  exchange("looked-at");
  look();
  world->kill_worker();
  world->placement.set_away(true);
  world->start_worker();
  world->pass(1'000);
  const Order order = issued("enrol");
  world->conductor->take(order);
  world->pass(1'000);
  exchange("unknown");
  world->placement.set_away(false);
  world->pass(10 * kMinuteMs);
  EXPECT_TRUE(untouched());
  EXPECT_THAT(world->store.order_answers[order.request_id], HasSubstr("the order accepts"));
}

TEST_P(OrdersOfAnyDrive, HaveToNameADrive) {
  Order order = issued("enrol");
  order.serial = order.hardware = "";
  EXPECT_THAT(answer(order), HasSubstr("it names no drive: issue it again"));
  order = issued("enrol");
  order.serial.clear();
  order.hardware = "slot=12";  // that tells no two drives apart
  EXPECT_THAT(answer(order), HasSubstr("it names no drive: issue it again"));
  EXPECT_EQ(world->erases, 0U);
}

// The journal has it under the operator's name.
TEST_P(OrdersOfAnyDrive, NameNoTextThatIsNoSerial) {
  for (const char* text : {"S1; and bob@ops let the data stay on it", "S1\n", "S\xc3\xa9"}) {
    Order order = issued("enrol");
    order.serial = text;
    EXPECT_THAT(answer(order),
                AllOf(HasSubstr("it names no serial that a drive can have"), Not(HasSubstr("bob"))))
        << text;
  }
  EXPECT_EQ(refusals(), 0U);
  EXPECT_EQ(world->erases, 0U);
}

// A serial, or a slot, may have quotes.
TEST_P(OrdersOfAnyDrive, AreToldWithTheirTextInQuotes) {
  if (!GetParam()) return;
  Order order = issued("enrol");
  order.serial = "S1' by 'bob";
  EXPECT_THAT(answer(order), HasSubstr(R"(the order accepts serial 'S1\' by \'bob', the drive)"));
  EXPECT_EQ(refusals(), 1U);
}

// By the serial on its label: the claim compares it.
TEST_P(OrdersOfAnyDrive, NameADriveThatTellsNothing) {
  Order order = issued("enrol");
  order.hardware.clear();
  order.serial = "on-the-label";
  if (GetParam()) {
    EXPECT_THAT(answer(order), HasSubstr("the order accepts serial 'on-the-label'"));
  } else {
    EXPECT_EQ(answer(order), "");
  }
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->erases, 0U);
  order = issued("enrol");
  order.hardware.clear();
  order.serial = world->drive().serial;
  EXPECT_EQ(answer(order), "");
  world->pass(10 * kMinuteMs);
  EXPECT_EQ(world->releases, 1U);
}

INSTANTIATE_TEST_SUITE_P(Managed, OrdersOfAnyDrive, ::testing::Bool());

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
  EXPECT_THAT(answer(again), HasSubstr("600 s ahead of this host's clock: set both clocks"));
  world->pass(10 * kMinuteMs);
  again.request_id = "req-copy";
  EXPECT_THAT(answer(again), HasSubstr("was judged before")) << "a copy, when the clock is there";
  EXPECT_EQ(world->record().stage, Stage::error);
}

TEST_F(Orders, AKickIsNoOrder) {
  fail();
  for (const char* what : {"clean", "enrol", "maintenance_on"}) {
    Kick kick;
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
