// A drive that its operator retires is erased, verified and certified, and never given back:
// wherever its worker dies, whatever Redis loses, until an operator enrols it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "handlers/conductor/conductor.h"
#include "state/ledger/trust.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kSaid = "returned-to-vendor: 'case 4711'";

struct Retire : ::testing::Test {
  Retire() {
    WorldOptions options;
    options.scripted = options.trace = true;
    world.emplace(options);
    world->start_worker();
    world->pass(kMinuteMs);
  }
  void TearDown() override { EXPECT_EQ(world->failure.value_or(""), ""); }

  void look() {
    world->kick({0});
    world->pass(kMinuteMs);
  }
  Order issued() {
    Order order;
    order.order = "retire";
    order.address = to_string(world->slots.front().address);
    order.who = "alice@compute-1";
    order.request_id = "req-" + std::to_string(++orders_);
    order.issued_at = world->scheduler.now().wall;
    order.id = std::to_string(order.issued_at.ms) + "-0";
    order.mac = world->order_code;
    order.reason = "case 4711";
    order.purpose = "returned-to-vendor";
    return order;
  }
  std::string answer(const Order& order) {
    world->conductor->take(order);
    world->pass(kMinuteMs);
    const auto found = world->store.order_answers.find(order.request_id);
    return found == world->store.order_answers.end() ? "no answer" : found->second;
  }
  void command(const std::string& what) {
    world->command(what, world->slots.front().address);
    world->pass(kMinuteMs);
  }
  void restart() {
    world->kill_worker();
    world->start_worker();
    world->pass(kMinuteMs);
  }
  std::optional<Certificate> certificate_of(const std::string& why) {
    for (const auto& [id, text] : world->disk.certificates) {
      auto certificate = decode_certificate(text);
      if (certificate && certificate->not_returned.find(why) != std::string::npos) {
        return *std::move(certificate);
      }
    }
    return std::nullopt;
  }
  void expect_kept() {
    const Record& record = world->record();
    EXPECT_EQ(record.stage, Stage::error);
    EXPECT_THAT(record.last_error, HasSubstr(std::string(kSaid)));
    EXPECT_EQ(record.retired, kSaid);
    EXPECT_EQ(world->provider().inventory.reserved, 1);
    EXPECT_EQ(world->disk.entries.at(record.address).retired, kSaid);
    EXPECT_FALSE(world->drives->claimed(record.address));
  }
  void expect_retired() {
    expect_kept();
    EXPECT_THAT(world->record().last_error, AllOf(HasSubstr("erased, not returned: retired: "),
                                                  HasSubstr("device set ADDRESS --enrol")));
    EXPECT_EQ(world->drive().owner, 0U);
    const auto certificate = certificate_of("retired: " + std::string(kSaid));
    ASSERT_TRUE(certificate);
    EXPECT_EQ(certificate->serial, world->drive().serial);
    EXPECT_EQ(certificate->released_at, WallMs{});
  }

  int orders_ = 0;
  std::optional<World> world;
};

TEST_F(Retire, ADriveOfThePoolIsReservedErasedAndCertified) {
  ASSERT_EQ(world->provider().inventory.reserved, 0);
  world->log.text.clear();
  EXPECT_EQ(answer(issued()), "");
  expect_retired();
  EXPECT_EQ(world->releases, 0U);
  // Nobody else offered it, and that is no incident.
  EXPECT_THAT(world->log.text, HasSubstr("is taken out of the pool, as an operator ordered"));
  EXPECT_THAT(world->log.text, Not(HasSubstr("is on offer")));
  EXPECT_TRUE(std::none_of(
      world->disk.audit.begin(), world->disk.audit.end(),
      [](const AuditEntry& entry) { return entry.event == AuditEvent::reserved_again; }));
  EXPECT_TRUE(
      std::any_of(world->disk.audit.begin(), world->disk.audit.end(), [](const AuditEntry& entry) {
        return entry.event == AuditEvent::retired &&
               entry.detail.find(kSaid) != std::string::npos &&
               entry.detail.find("operator alice@") != std::string::npos;
      }));
  world->pass(kHourMs);
  expect_retired();
  EXPECT_EQ(world->erases, 1U);
}

TEST_F(Retire, WhereItsReasonEndsIsSeen) {
  Order order = issued();
  order.reason = "case 1; ordered by operator bob@Default";
  EXPECT_EQ(answer(order), "");
  EXPECT_EQ(world->record().retired,
            "returned-to-vendor: 'case 1; ordered by operator bob@Default'");
}

TEST_F(Retire, NothingButAnEnrolmentTakesItBack) {
  EXPECT_EQ(answer(issued()), "");
  command("clean");
  expect_retired();
  EXPECT_EQ(world->erases, 2U) << "cleaned again, it is kept again";
  command("enrol");
  EXPECT_EQ(world->record().stage, Stage::available) << world->record().last_error;
  EXPECT_EQ(world->record().retired, "");
  EXPECT_EQ(world->provider().inventory.reserved, 0);
  EXPECT_EQ(world->disk.entries.at(world->record().address).retired, "");
}

TEST_F(Retire, WhatRedisLosesOrAnotherWorkerFindsReleasesNothing) {
  EXPECT_EQ(answer(issued()), "");
  restart();
  expect_retired();
  world->kill_worker();
  world->store.lose_everything();
  world->start_worker();
  world->pass(kMinuteMs);
  expect_kept();
  command("clean");
  expect_retired();
  EXPECT_EQ(world->releases, 0U);
}

// The ledger was restored from before, or is gone; the record is this host's own.
TEST_F(Retire, ALostOrOlderLedgerTakesNothingBack) {
  const auto before = world->disk.entries;
  ASSERT_EQ(answer(issued()), "");
  look();
  expect_retired();
  for (const bool lost : {false, true}) {
    SCOPED_TRACE(lost);
    world->kill_worker();
    if (lost) {
      world->disk.entries.clear();
    } else {
      world->disk.entries = before;
    }
    world->start_worker();
    world->pass(kMinuteMs);
    command("clean");
    world->pass(kMinuteMs);
    EXPECT_EQ(world->record().stage, Stage::error);
    EXPECT_EQ(world->releases, 0U);
  }
}

// Its answer would be of a record that is no more.
TEST_F(Retire, WaitsWhileTheRecordIsWritten) {
  world->tenancy_begins();
  look();
  const Order order = issued();
  bool taken = false;
  world->store.on_saved = [&, seen = world->store.on_saved](const Record& record,
                                                            const JournalEntry& entry) {
    if (seen) seen(record, entry);
    if (record.stage != Stage::guarding || std::exchange(taken, true)) return;
    world->conductor->take(order);
  };
  world->tenancy_ends();
  look();
  world->pass(10 * kMinuteMs);
  ASSERT_TRUE(taken);
  const std::string said = world->store.order_answers[order.request_id];
  EXPECT_EQ(said.empty(), world->record().retired == kSaid) << said;
}

TEST_F(Retire, AnyHandThatUnreservesItIsUndone) {
  EXPECT_EQ(answer(issued()), "");
  world->placement.set_reserved_by(Offered::by_operator, world->provider().row.uuid, 0);
  look();
  expect_retired();
}

TEST_F(Retire, RefusedWhileSomebodyHasIt) {
  world->tenancy_begins();
  look();
  EXPECT_THAT(answer(issued()), HasSubstr("when the instance that has it is deleted"));
  world->drive().sanitize_ms = 10 * kMinuteMs;
  world->tenancy_ends();
  look();
  ASSERT_EQ(world->record().stage, Stage::erasing);
  EXPECT_THAT(answer(issued()), HasSubstr("when its cleaning is over"));
  world->pass(kHalfHourMs);
  EXPECT_EQ(world->record().stage, Stage::available);
  EXPECT_EQ(world->record().retired, "");
}

TEST_F(Retire, RefusedWhileAnOperatorHoldsItOrWithoutAReasonPurposeOrCode) {
  Order silent = issued();
  silent.reason.clear();
  EXPECT_THAT(answer(silent), HasSubstr("--reason"));
  Order vague = issued();
  vague.purpose = "gone";
  EXPECT_THAT(answer(vague), HasSubstr("--as destroyed|returned-to-vendor|recycled|reused"));
  Order strange = issued();
  strange.mac = "made up";
  EXPECT_THAT(answer(strange), HasSubstr("not authenticated"));
  world->tenancy_begins();
  look();
  world->tenancy_ends();
  look();
  ASSERT_EQ(world->releases, 1U);
  world->placement.set_reserved_by(Offered::no, world->provider().row.uuid, 1);
  look();
  ASSERT_TRUE(world->record().held);
  EXPECT_THAT(answer(issued()), HasSubstr("an operator holds it"));
  EXPECT_EQ(world->record().retired, "");
  EXPECT_EQ(world->erases, 1U);
}

// The wish stays to be seen, and what can be erased later is kept all the same.
TEST_F(Retire, WhatCannotBeErasedSaysThatItWasAskedFor) {
  world->drive().kind = Kind::fails;
  EXPECT_EQ(answer(issued()), "");
  expect_kept();
  EXPECT_THAT(world->record().last_error, HasSubstr("an operator asked to retire it"));
  EXPECT_FALSE(certificate_of("retired"));
  world->drive().kind = Kind::healthy;
  command("clean");
  expect_retired();
}

TEST_F(Retire, AWornDriveTellsBoth) {
  world->drive().unfit = true;
  EXPECT_EQ(answer(issued()), "");
  expect_retired();
  EXPECT_TRUE(certificate_of("case 4711'; health: 101 %"));
}

// It may be put into another bay of the host.
TEST_F(Retire, ItsSerialTellsItElsewhere) {
  EXPECT_EQ(answer(issued()), "");
  Record elsewhere = world->record();
  elsewhere.retired.clear();
  elsewhere.address = *parse_pci_address("0000:7f:00.0");
  EXPECT_EQ(retirement_of(world->disk.entries, elsewhere), kSaid);
  elsewhere.serial = "another";
  EXPECT_EQ(retirement_of(world->disk.entries, elsewhere), "");
  elsewhere.serial.clear();
  EXPECT_EQ(retirement_of(world->disk.entries, elsewhere), "");
}

TEST(RetireStep, SaysSoInEachErrorUntilItIsEnrolled) {
  Record record;
  record.stage = Stage::pending_cleaning;
  Facts facts;
  facts.retired = "destroyed: burnt";
  auto update = step(record, Event{Trigger::operator_retire, 0, facts}, WallMs{9});
  ASSERT_TRUE(update.has_value());
  update = step(update->record, Event{Trigger::operator_abort, 0, {}}, WallMs{10});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->record.last_error,
            "aborted by an operator; an operator asked to retire it (destroyed: burnt)");
  update = step(update->record, Event{Trigger::operator_clean, 0, {}}, WallMs{11});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->record.retired, "destroyed: burnt");
  update = step(update->record, Event{Trigger::operator_enrol, 0, {}}, WallMs{12});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->record.retired, "");
}

struct RetireWithoutItsWorker : Retire, ::testing::WithParamInterface<Stage> {};

TEST_P(RetireWithoutItsWorker, ComesToTheSameEnd) {
  world->store.on_saved = [this, checks = world->store.on_saved, done = false](
                              const Record& record, const JournalEntry& entry) mutable {
    checks(record, entry);
    if (record.stage != GetParam() || std::exchange(done, true)) return;
    world->scheduler.outside(0, [this] {
      world->kill_worker();
      world->start_worker();
    });
  };
  world->conductor->take(issued());
  world->pass(5 * kMinuteMs);
  expect_retired();
}

INSTANTIATE_TEST_SUITE_P(Stages, RetireWithoutItsWorker,
                         ::testing::Values(Stage::pending_cleaning, Stage::guarding,
                                           Stage::preparing, Stage::baselining, Stage::erasing,
                                           Stage::verifying, Stage::error),
                         [](const auto& stage) { return std::string(to_string(stage.param)); });

// The ledger has the order, and the record does not.
TEST_F(Retire, IsKeptThoughItsWorkerDiesRightBehindTheLedgersLine) {
  world->ledger->on_durable = [this, checks = world->ledger->on_durable, died = false](
                                  const PciAddress& at, const LedgerEntry& entry) mutable {
    checks(at, entry);
    if (entry.retired.empty() || std::exchange(died, true)) return;
    world->scheduler.outside(0, [this] { world->kill_worker(); });
  };
  world->conductor->take(issued());
  world->pass(kMinuteMs);
  ASSERT_FALSE(world->conductor);
  world->start_worker();
  world->pass(5 * kMinuteMs);
  expect_retired();
}

}  // namespace
}  // namespace reclaim::sim
