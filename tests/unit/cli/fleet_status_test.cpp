// The fleet on one screen.
#include "cli/fleet_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/progress_bar.h"
#include "state/device/machine.h"

namespace reclaim::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr WallMs kNow{1'800'000'000'000};
constexpr std::int64_t kSilenceMs = 200'000;
constexpr std::int64_t kHourMs = 3'600'000;

HostState host(const std::string& name) {
  HostState state;
  state.info.host = name;
  state.info.heartbeat_at = WallMs{kNow.ms - 5'000};
  state.info.version = "1.2.3";
  return state;
}

Record device(const std::string& host, const std::string& address, Stage stage,
              std::int64_t since_ms) {
  Record record;
  record.host = host;
  record.address = *parse_pci_address(address);
  record.stage = stage;
  record.stage_since = WallMs{kNow.ms - since_ms};
  record.capacity_bytes = 1'920'000'000'000;
  return record;
}

JournalEntry moved(const std::string& from, const std::string& trigger, const std::string& to,
                   std::int64_t ago_ms) {
  return {"0000:c1:00.0", from, trigger, to, "", "", WallMs{kNow.ms - ago_ms}};
}

FleetStatus look(const std::vector<HostState>& hosts) {
  return fleet_status(hosts, kNow, kSilenceMs, 8);
}

TEST(FleetStatus, SaysWhenThereAreNearlyAsManyHostsAsMayBe) {
  std::vector<HostState> hosts(5, host("c1"));
  EXPECT_THAT(render(look(hosts), 0), Not(HasSubstr("hosts_max")));
  hosts.push_back(host("c6"));
  EXPECT_THAT(render(look(hosts), 0), HasSubstr("\n  6 hosts of 8: raise [redis] hosts_max, and "));
  EXPECT_TRUE(look(hosts).healthy());
  FleetStatus status = look(hosts);
  status.crowded.push_back("9 connections of 12: raise maxclients");
  EXPECT_THAT(render(status, 0), HasSubstr("\n  9 connections of 12: raise maxclients\n"));
}

TEST(FleetStatus, AFleetThatIsWellNeedsNoAttention) {
  HostState first = host("c1");
  first.records = {device("c1", "0000:c1:00.0", Stage::available, kHourMs),
                   device("c1", "0000:c2:00.0", Stage::allocated, kHourMs)};
  first.records[0].maintenance = first.records[0].held = true;
  const FleetStatus status = look({first, host("c2")});
  EXPECT_TRUE(status.healthy());
  const std::string text = render(status, 0);
  EXPECT_THAT(text, HasSubstr("  2 hosts, 2 up (version 2 x 1.2.3)\n"));
  EXPECT_THAT(text, HasSubstr("  2 devices: 1 available, 1 allocated; 1 in maintenance\n"));
  EXPECT_THAT(text, Not(HasSubstr("attention")));
}

// Which is no fault of theirs: what waits meanwhile needs no attention.
TEST(FleetStatus, PausedHostsAndWornDrivesAreShownAndNeedNoAttention) {
  HostState paused = host("c1");
  paused.info.paused_until = WallMs{kNow.ms + kHourMs};
  paused.info.paused_by = "operator alice@ctl: power work";
  paused.records = {device("c1", "0000:c1:00.0", Stage::pending_cleaning, kHourMs),
                    device("c1", "0000:c2:00.0", Stage::available, kHourMs),
                    device("c1", "0000:c3:00.0", Stage::available, kHourMs)};
  paused.records[0].waiting_for = "its host is paused until 2027-01-15T09:00:00Z by alice";
  const auto wears = [](Record& record, const std::string& used, const std::string& spare) {
    record.findings = R"({"nvme.check_health":[{"surface":"percentage_used","found":")" + used +
                      R"( %"},{"surface":"available_spare","found":")" + spare +
                      R"( %, threshold 10 %"}]})";
  };
  wears(paused.records[0], "79", "21");
  wears(paused.records[1], "85", "100");
  wears(paused.records[2], "3", "9");
  HostState over = host("c2");
  over.info.paused_until = WallMs{kNow.ms - 1};
  const FleetStatus status = look({paused, over});
  EXPECT_TRUE(status.healthy());
  const std::string text = render(status, 0);
  EXPECT_THAT(text, HasSubstr("  c1 until 2027-01-15T09:00:00Z by operator alice@ctl: power work"));
  EXPECT_THAT(text, Not(HasSubstr("c2 until")));
  EXPECT_THAT(text, HasSubstr("Near their end, the worst first\n"
                              "  c1 0000:c3:00.0: 3 % used, 9 % spare\n"
                              "  c1 0000:c2:00.0: 85 % used, 100 % spare\n"));
  EXPECT_THAT(text, Not(HasSubstr("79 % used")));
  EXPECT_THAT(status_fields(status),
              ::testing::Contains(
                  Pair("paused", Cell(RawJson{R"([{"host":"c1","until":"2027-01-15T09:00:00Z",)"
                                              R"("by":"operator alice@ctl: power work"}])"}))));
}

TEST(FleetStatus, WorkersThatAreNotThereAreNamedWithTheRemedy) {
  HostState stopped = host("c1");
  stopped.info.stopped = true;
  HostState silent = host("c2");
  silent.info.heartbeat_at = WallMs{kNow.ms - kSilenceMs - 1'000};
  HostState expired = host("c3");
  expired.info.heartbeat_at = WallMs{};
  HostState observing = host("c4");
  observing.info.observes = true;
  const FleetStatus status = look({stopped, silent, expired, observing});
  EXPECT_EQ(status.up, 1U);
  EXPECT_FALSE(status.healthy());
  const std::string text = render(status, 0);
  EXPECT_THAT(text, HasSubstr("c1 for 5s: its worker was stopped: systemctl start reclaim"));
  EXPECT_THAT(text, HasSubstr("c2 for 3m21s: its worker is silent"));
  EXPECT_THAT(text, HasSubstr("c3 for an unknown time: its worker's heartbeat has expired"));
  EXPECT_LT(text.find("c3 for"), text.find("c2 for")) << "the oldest first";
  EXPECT_THAT(text, HasSubstr("1 only observe"));
}

TEST(FleetStatus, AHostThatCannotBeReadIsNamedAndARecordWithoutATimeHasNoAge) {
  HostState forged = host("c1");
  forged.unreadable = "reclaim:{c1}:devices: WRONGTYPE\x1b[2J";
  HostState damaged = host("c2");
  damaged.records = {device("c2", "0000:01:00.0", Stage::error, 0)};
  damaged.records[0].stage_since = WallMs{};
  const std::string text = render(look({forged, damaged}), 0);
  EXPECT_THAT(text, HasSubstr("c1 for an unknown time: reclaim:{c1}:devices: WRONGTYPE\\x1b[2J"));
  EXPECT_THAT(text, HasSubstr("c2 0000:01:00.0 for an unknown time: error"));
}

TEST(FleetStatus, AQueueThatNobodyReadsForAnHourIsNamedOnce) {
  HostState first = host("c1");
  first.info.unread_queues = {"notifications.info"};
  first.info.unread_since = WallMs{kNow.ms - kHourMs + 1};
  EXPECT_TRUE(look({first}).healthy()) << "its reader may just start again";
  first.info.unread_since.ms -= 1;
  HostState second = host("c2");
  second.info.unread_queues = {"notifications.info", "versioned_notifications.info"};
  second.info.unread_since = WallMs{kNow.ms - 2 * kHourMs};
  HostState stopped = host("c3");
  stopped.info = second.info;
  stopped.info.stopped = true;
  const FleetStatus status = look({first, second});
  EXPECT_THAT(status.attention, SizeIs(2));
  const std::string text = render(status, 0);
  EXPECT_THAT(text, HasSubstr("c1 for 1h0m: RabbitMQ's queue notifications.info holds messages "
                              "that nobody reads: "));
  EXPECT_THAT(text, HasSubstr("c2 for 2h0m: RabbitMQ's queue versioned_notifications.info holds"));
  EXPECT_THAT(text, HasSubstr("rabbitmqctl set_policy"));
  EXPECT_THAT(look({stopped}).attention, SizeIs(1)) << "what it said is old";
}

TEST(FleetStatus, WhatIsStuckComesOldestFirstAndWhatPassesDoesNot) {
  HostState one = host("c1");
  one.records = {device("c1", "0000:01:00.0", Stage::pending_cleaning, 60'000),
                 device("c1", "0000:02:00.0", Stage::pending_cleaning, kHourMs),
                 device("c1", "0000:03:00.0", Stage::error, 3 * kHourMs),
                 device("c1", "0000:04:00.0", Stage::pending_cleaning, 9 * kHourMs)};
  one.records[1].waiting_for = "a guest has it";
  one.records[2].last_error = "old content is still there\x1b[2J";
  one.records[3].maintenance = true;
  const FleetStatus status = look({one});
  ASSERT_THAT(status.attention, SizeIs(2));
  EXPECT_EQ(status.attention[0].address, "0000:03:00.0");
  const std::string text = render(status, 0);
  EXPECT_THAT(text, HasSubstr("c1 0000:03:00.0 for 3h0m: error: old content is still there"));
  EXPECT_THAT(text, HasSubstr("c1 0000:02:00.0 for 1h0m: waits: a guest has it\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FleetStatus, TheLastDayIsCountedFromTheJournal) {
  HostState one = host("c1");
  one.records = {device("c1", "0000:c1:00.0", Stage::available, 1'000)};
  one.journal = {moved("allocated", "dirty_seen", "pending_cleaning", 9 * kHourMs),
                 moved("releasing", "released", "available", 9 * kHourMs - 10'000),
                 moved("allocated", "dirty_seen", "pending_cleaning", 5 * kHourMs),
                 moved("guarding", "guards_wait", "pending_cleaning", 5 * kHourMs - 1'000),
                 moved("erasing", "erase_failed", "error", 5 * kHourMs - 2'000),
                 moved("error", "operator_clean", "pending_cleaning", kHourMs),
                 moved("releasing", "released_taken", "allocated", kHourMs - 30'000)};
  const FleetStatus status = look({one});
  EXPECT_EQ(status.cleaned, 2U);
  EXPECT_EQ(status.failed, 1U);
  EXPECT_THAT(status.clean_ms, ElementsAre(10'000, 30'000));
  EXPECT_THAT(render(status, 0), HasSubstr("2 cleaned (3.8 TB given back), 1 ended in error; time "
                                           "to clean: mean 20.0 s, p95 30.0 s"));
  const Fields fields = status_fields(status);
  EXPECT_THAT(fields, ::testing::Contains(Pair("clean_seconds_p95", Cell(30.0))));
  EXPECT_THAT(fields,
              ::testing::Contains(Pair(
                  "devices", Cell(RawJson{R"({"available":1,"allocated":0,)"
                                          R"("pending_cleaning":0,"cleaning":0,"error":0})"}))));
  EXPECT_THAT(status_fields(look({})), ::testing::Contains(Pair("clean_seconds_mean", Cell())));
}

TEST(FleetStatus, ATenantOfWhatIsNotKnownToBeCleanNeedsAttention) {
  HostState one = host("c1");
  one.records = {device("c1", "0000:c1:00.0", Stage::allocated, kHourMs)};
  one.records[0].tenancy_seen_at = WallMs{kNow.ms - kHourMs};
  EXPECT_TRUE(look({one}).healthy());
  one.records[0].last_error = std::string("bound by X although Y had it: ") + kNotKnownToBeClean;
  EXPECT_FALSE(look({one}).healthy());
  EXPECT_THAT(
      render(look({one}), 0),
      HasSubstr("c1 0000:c1:00.0 for 1h0m: bound by X although Y had it: a tenant has got"));
  one.records[0].tenancy_seen_at.ms -= 25 * kHourMs;
  EXPECT_TRUE(look({one}).healthy()) << "for a day";
}

// Whether it has it still or not.
TEST(FleetStatus, WhoGotWhatIsNotCleanIsNamedForADay) {
  HostState one = host("c1");
  one.records = {device("c1", "0000:c1:00.0", Stage::pending_cleaning, 0)};
  const std::string why = std::string("bound by X although Y had it: ") + kNotKnownToBeClean;
  one.journal = {moved("allocated", "passed_on", "allocated", 300'000)};
  one.journal.back().detail = why;
  const FleetStatus status = look({one});
  EXPECT_TRUE(status.healthy());
  EXPECT_THAT(render(status, 0),
              AllOf(HasSubstr("Given to an instance though not clean, in the last 24 hours\n"),
                    HasSubstr("  c1 0000:c1:00.0 5m0s ago: " + why)));
  EXPECT_THAT(status_fields(status),
              ::testing::Contains(Pair(
                  "allocated_dirty_24h",
                  Cell(RawJson{R"([{"host":"c1","address":"0000:c1:00.0","age_s":300,"text":")" +
                               why + "\"}]"}))));
}

// Anybody on the bus can invent the accelerator request of the later one.
TEST(FleetStatus, ALaterAlarmDoesNotReplaceTheOneBefore) {
  HostState one = host("c1");
  for (const std::string who : {"bound by X although Y had it: ", "bound by ARQ Z although: "}) {
    one.journal.push_back(moved("allocated", "passed_on", "allocated", 300'000));
    one.journal.back().detail = who + std::string(kNotKnownToBeClean);
  }
  EXPECT_EQ(look({one}).allocated_dirty.size(), 2U);
  one.journal.push_back(one.journal.back());
  EXPECT_EQ(look({one}).allocated_dirty.size(), 2U) << "two looks may tell of one";
}

// Which it is no more: the worker reserved it again at once.
TEST(FleetStatus, WhatWasOfferedDirtyIsNamedForADayAndNeedsNoAttention) {
  HostState one = host("c1");
  one.journal = {moved("error", "reserved_dropped", "error", 2 * kHourMs),
                 moved("available", "reserved_dropped", "pending_cleaning", kHourMs)};
  HostState two = host("c2");
  two.journal = {moved("error", "reserved_dropped", "error", kHourMs),
                 moved("pending_cleaning", "reserved_dropped", "pending_cleaning", 5'000)};
  const FleetStatus status = look({one, two});
  EXPECT_TRUE(status.healthy());
  EXPECT_THAT(render(status, 0),
              HasSubstr("Offered though not clean, in the last 24 hours\n"
                        "  c2 0000:c1:00.0 5s ago: seen on offer 2 times, the last time while "
                        "its state was pending_cleaning\n"
                        "  c1 0000:c1:00.0 2h0m ago: seen on offer while its state was error\n"
                        "  Reclaim reserves them again; find out who writes their inventories "
                        "(docs/metrics.md, ReclaimDirtyOffered)\n"));
  EXPECT_THAT(status_fields(look({one})),
              ::testing::Contains(
                  Pair("offered_dirty_24h",
                       Cell(RawJson{R"([{"host":"c1","address":"0000:c1:00.0","age_s":7200,)"
                                    R"("text":"seen on offer while its state was error"}])"}))));
  EXPECT_THAT(render(look({host("c1")}), 0), Not(HasSubstr("Offered")));
}

TEST(FleetStatus, OfManyTheFirstAreShownAndTheRestCounted) {
  constexpr int kMany = 22;
  HostState one = host("c1");
  for (int i = 0; i < kMany; ++i) {
    const std::string address = "0000:" + std::to_string(10 + i) + ":00.0";
    one.records.push_back(device("c1", address, Stage::error, kHourMs));
    one.records.back().findings =
        R"({"nvme.check_health":[{"surface":"percentage_used","found":"90 %"}]})";
    one.journal.push_back(moved("error", "reserved_dropped", "error", kHourMs));
    one.journal.back().address = address;
  }
  const std::string text = render(look({one}), 0);
  EXPECT_THAT(text, HasSubstr("c1 0000:29:00.0 for 1h0m: error: \n  and 2 more: reclaim status -f "
                              "json lists all\n\nOffered though"));
  EXPECT_THAT(text, HasSubstr("c1 0000:14:00.0 1h0m ago: seen on offer while its state was error\n"
                              "  and 17 more: reclaim status -f json lists all\n"
                              "  Reclaim reserves them again"));
  EXPECT_THAT(text, HasSubstr("c1 0000:14:00.0: 90 % used\n"
                              "  and 17 more: reclaim device list --all-hosts --worn\n"));
}

// A compromised host can write as many lines about its own devices as it likes.
TEST(FleetStatus, NoHostsLinesHideThoseOfAnother) {
  HostState many = host("a1");
  for (int i = 0; i < 30; ++i) {
    const std::string address = "0000:" + std::to_string(10 + i) + ":00.0";
    many.records.push_back(device("a1", address, Stage::error, 9 * kHourMs));
    many.journal.push_back(moved("error", "reserved_dropped", "error", 1'000));
    many.journal.back().address = address;
  }
  HostState one = host("c1");
  one.records = {device("c1", "0000:c1:00.0", Stage::error, kHourMs)};
  one.journal = {moved("error", "reserved_dropped", "error", kHourMs)};
  one.journal.back().address = "0000:c1:00.0";
  const std::string text = render(look({many, one}), 0);
  EXPECT_THAT(text, HasSubstr("  c1 0000:c1:00.0 for 1h0m: error: \n  and 11 more"));
  EXPECT_THAT(text, HasSubstr("c1 0000:c1:00.0 1h0m ago: seen on offer while its state was error\n"
                              "  and 26 more"));
}

TEST(FleetStatus, ProgressIsDrawnAndLinesFitTheScreen) {
  HostState one = host("c1");
  one.records = {device("c1", "0000:c1:00.0", Stage::erasing, 1'000)};
  one.records[0].clean_step = "nvme.sanitize_crypto";
  one.records[0].progress_percent = 50;
  const std::string text = render(look({one}), 60);
  EXPECT_THAT(text, HasSubstr("c1 0000:c1:00.0 nvme.sanitize_crypto"));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    EXPECT_LE(end, 60U) << rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  EXPECT_EQ(progress_bar("", one.records[0]),
            "0000:c1:00.0 nvme.sanitize_crypto [###############...............]  50%");
}

// A line that the terminal wraps is not drawn over by the next one.
TEST(ProgressBar, FitsItsTerminal) {
  Record record = device("c1", "0000:c1:00.0", Stage::erasing, 1'000);
  record.clean_step = "nvme.sanitize_crypto";
  record.progress_percent = 50;
  record.progress_eta_s = 120;
  EXPECT_EQ(progress_bar("c1", record, 80),
            "c1 0000:c1:00.0 nvme.sanitize_crypto [#########.........]  50%, about 120 s left");
  record.progress_message = "overwriting pass 1 of 3";
  EXPECT_EQ(progress_bar("c1", record, 80),
            "c1 0000:c1:00.0 nvme.sanitize_crypto [#####.....]  50%, about 120 s left");
}

TEST(FleetStatus, SizesAreDecimal) {
  EXPECT_EQ(size_text(999), "999 bytes");
  EXPECT_EQ(size_text(1'920'000'000'000), "1.9 TB");
}

}  // namespace
}  // namespace reclaim::cli
