// Nova 2026.2's notifications as they stood on RabbitMQ, played to a worker of compute-2 at the
// times of their timestamps, while the test does in Placement and on the host what Nova did: whom
// the certificates name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "handlers/bus/kick.h"
#include "handlers/conductor/conductor.h"
#include "state/base/json.h"
#include "state/ledger/audit.h"
#include "tests/sim/world.h"
#include "tests/source_path.h"

namespace reclaim::sim {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPlayedHost = "compute-2";
constexpr const char* kItsMigration = "3ab0e3b2-0000-4000-8000-00000000feed";
// Both together on compute-2 for a while; kResized is resized on its host, and confirmed.
constexpr const char* kResized = "37d964a9-f5f0-4fa7-a540-5f103358b65d";
constexpr const char* kBeside = "4bb5e853-8304-4155-beac-0775bb527907";
constexpr const char* kShelved =
    "54e2fdaf-63d0-4f68-bff2-412445b8b40f";  // six seconds after its build
constexpr const char* kMigrated = "4dee8fde-fe92-4c46-bd4d-bc755777eeeb";  // to compute-1, cold
constexpr const char* kLong = "fa64526f-498d-414b-b0a6-758dc03f488b";      // for nine minutes

struct Message {
  std::int64_t at_ms = 0;
  Decision decision;
};

// What the worker of some host is told of, in the order of its sending.
std::vector<Message> recorded() {
  std::vector<Message> messages;
  KickDecider decider;
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const auto document = json::parse(line, 1U << 20U);
    Decision decision = decider.decide_exact(*json::get_string(*document, "body"));
    if (decision.verdict != Verdict::kick) continue;
    messages.push_back({decision.sent_at->ms, std::move(decision)});
  }
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return a.at_ms < b.at_ms; });
  return messages;
}

struct RecordedLives : ::testing::Test {
  RecordedLives() : messages(recorded()), world(options()) {
    world.conductor_options.host = kPlayedHost;
    for (auto& [address, drive] : world.hardware.drives) drive.sanitize_ms = 30'000;
    world.scheduler.shift_wall_clock(messages.front().at_ms - kMinuteMs - now());
    world.start_worker();
    world.pass(kMinuteMs / 2);
  }
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = options.trace = true;
    options.scripted_slots = 2;
    return options;
  }
  [[nodiscard]] std::int64_t now() const { return world.scheduler.now().wall.ms; }

  // All that was sent before this one, and the time until then.
  void until(const std::string& event, const std::string& instance) {
    for (; next < messages.size(); ++next) {
      const Message& message = messages[next];
      if (message.decision.event_type == event && message.decision.instance_uuid == instance) {
        return pass_to(message.at_ms);
      }
      pass_to(message.at_ms);
      bring(message.decision);
    }
    FAIL() << event << " of " << instance << " is not in the recording";
  }
  void past(const std::string& event, const std::string& instance) {
    until(event, instance);
    bring(messages.at(next++).decision);
  }
  void pass_to(std::int64_t at_ms) { world.pass(std::max<std::int64_t>(at_ms - now(), 0)); }
  void bring(const Decision& decision) {
    const bool for_us = decision.any_host || std::find(decision.hosts.begin(), decision.hosts.end(),
                                                       kPlayedHost) != decision.hosts.end();
    if (for_us) queue.push_back(kick_of(decision));
    if (world.conductor && world.started && !bus_lags) bring_what_waits();
  }
  void bring_what_waits() {
    for (const Kick& kick : std::exchange(queue, {})) world.conductor->take(kick);
  }
  void worker_is_down() { world.kill_worker(); }
  void worker_is_back() {
    world.start_worker();
    world.pass(1'000);
    bring_what_waits();
  }

  void gets(std::size_t slot, const std::string& instance) {
    world.next_instance = instance;
    world.placement.is_of_project(instance, "project-1");
    world.tenancy_begins(slot);
  }
  void leaves(std::size_t slot) {
    world.tenancy_ends(slot);
    world.drive(slot).driver = "nvme";
  }
  void moves_away(std::size_t slot) {
    Slot& source = world.slots.at(slot);
    world.placement.hand_over(world.provider(slot).row.uuid, source.consumer, kItsMigration);
    source.consumer = kItsMigration;
  }
  void certified() { world.pass(10 * kMinuteMs); }
  [[nodiscard]] Certificate certificate(std::size_t slot) {
    EXPECT_EQ(world.record(slot).stage, Stage::available);
    return *decode_certificate(world.disk.certificates.at(world.record(slot).certificate_id));
  }
  void expect_seen(std::size_t slot, const std::string& instance, const std::string& migration) {
    const Certificate told = certificate(slot);
    EXPECT_EQ(told.instance, instance);
    EXPECT_EQ(told.instance_source, "allocation");
    EXPECT_EQ(told.migration, migration);
    EXPECT_EQ(told.project, "project-1");
    EXPECT_THAT(told.heard, IsEmpty());
  }
  void expect_heard(std::size_t slot, const std::vector<std::string>& instances) {
    const Certificate told = certificate(slot);
    EXPECT_EQ(told.instance, "");
    EXPECT_EQ(told.instance_source, "not_seen");
    EXPECT_EQ(told.heard, instances);
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }

  std::vector<Message> messages;
  std::size_t next = 0;
  World world;
  std::vector<Kick> queue;
  bool bus_lags = false;
};

TEST_F(RecordedLives, OfAResizeThatIsConfirmedTheSourceNamesInstanceAndMigration) {
  until("compute.instance.create.end", kResized);
  gets(0, kResized);
  until("compute.instance.resize.prep.start", kResized);
  moves_away(0);
  past("instance.resize_prep.end", kResized);
  gets(1, kResized);
  past("instance.resize_confirm.end", kResized);
  leaves(0);
  past("instance.delete.start", kResized);
  leaves(1);
  past("instance.delete.end", kResized);
  certified();
  expect_seen(0, kResized, kItsMigration);
  expect_seen(1, kResized, "");
}

// The recorded one was reverted: its confirmation is that of the resize, as its source sends it.
TEST_F(RecordedLives, SoItIsOfAColdMigration) {
  until("compute.instance.create.end", kMigrated);
  gets(0, kMigrated);
  until("instance.resize_prep.start", kMigrated);
  moves_away(0);
  past("instance.resize_finish.end", kMigrated);
  const auto confirmed = std::find_if(messages.begin(), messages.end(), [](const Message& message) {
    return message.decision.event_type == "instance.resize_confirm.end";
  });
  ASSERT_NE(confirmed, messages.end());
  Decision decision = confirmed->decision;
  decision.instance_uuid = kMigrated;
  decision.sent_at = WallMs{now()};
  bring(decision);
  leaves(0);
  certified();
  expect_seen(0, kMigrated, kItsMigration);
}

// The messages come when the life that they tell of is over.
TEST_F(RecordedLives, ALifeBetweenTwoSurveysIsHeardOf) {
  until("compute.instance.create.end", kShelved);
  gets(0, kShelved);
  bus_lags = true;
  past("instance.create.end", kShelved);
  world.pass(2'000);
  leaves(0);
  bring_what_waits();
  bus_lags = false;
  world.pass(1'000);
  ASSERT_EQ(world.record(0).stage, Stage::erasing);
  past("instance.shelve_offload.end", kShelved);
  certified();
  expect_heard(0, {kShelved});
}

TEST_F(RecordedLives, WhoeverBeginsIsSeenAtOnceWhereTheBusIsInTime) {
  until("compute.instance.create.end", kShelved);
  world.kick({0});
  world.pass(100);
  gets(0, kShelved);
  past("compute.instance.create.end", kShelved);
  world.pass(500);
  leaves(0);
  past("instance.shelve_offload.end", kShelved);
  certified();
  expect_seen(0, kShelved, "");
}

TEST_F(RecordedLives, ALifeWhileTheWorkerWasDownIsHeardOfByWhatWaited) {
  past("instance.delete.end", kMigrated);
  worker_is_down();
  until("compute.instance.create.end", kLong);
  gets(0, kLong);
  until("compute.instance.delete.end", kLong);
  leaves(0);
  past("instance.delete.end", kLong);
  worker_is_back();
  certified();
  expect_heard(0, {kLong});
  for (const AuditEntry& entry : world.disk.audit) EXPECT_EQ(entry.instance, "");
}

// Which of the two had it nobody knows; the one of compute-1 had not.
TEST_F(RecordedLives, WhoMayHaveHadItAreAllNamed) {
  worker_is_down();
  until("compute.instance.create.end", kBeside);
  gets(0, kBeside);
  until("compute.instance.delete.end", kBeside);
  leaves(0);
  past("instance.delete.end", kBeside);
  worker_is_back();
  certified();
  expect_heard(0, {kResized, kBeside});
}

// Of compute-1's instance compute-2 is told as well, where that moves.
TEST_F(RecordedLives, WhoBeganBeforeTheGapHadAnotherDevice) {
  until("compute.instance.create.end", kResized);
  worker_is_down();
  past("instance.delete.end", kBeside);
  worker_is_back();
  world.pass(kMinuteMs);
  ASSERT_EQ(world.record(0).stage, Stage::available);
  worker_is_down();
  until("compute.instance.create.end", kMigrated);
  gets(0, kMigrated);
  until("compute.instance.delete.end", kMigrated);
  leaves(0);
  past("instance.delete.end", kMigrated);
  worker_is_back();
  certified();
  const Certificate told = certificate(0);
  EXPECT_THAT(told.heard, Contains(kMigrated));
  EXPECT_THAT(told.heard, Not(Contains(kResized)));
  EXPECT_THAT(told.heard, Not(Contains(kBeside)));
}

}  // namespace
}  // namespace reclaim::sim
