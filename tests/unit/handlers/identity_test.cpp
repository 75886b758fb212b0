// Whether the drive at an address is the one on record there: who waits, and what he is told.
#include "handlers/survey/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "handlers/conductor/conductor.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

using nvme::Match;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr PciAddress kHome{0, 1, 0, 0};
constexpr PciAddress kHere{0, 2, 0, 0};

Sighting a_drive(const std::string& serial) {
  Sighting sighting;
  sighting.address = kHere;
  sighting.drive.emplace();
  sighting.drive->address = kHere;
  sighting.drive->class_code = 0x010802;
  if (!serial.empty()) sighting.drive->identity.emplace().serial = serial;
  return sighting;
}

LedgerEntry dirty_line(const std::string& boot_id, const std::string& first_boot_id) {
  LedgerEntry entry;
  entry.dirty = true;
  entry.boot_id = boot_id;
  entry.first_boot_id = first_boot_id;
  return entry;
}

// A drive that nothing is remembered of, beside a dirty line of another address that names no
// drive: it is waited for only where that drive may have come here by a restart.
struct Line {
  const char* name;
  const char* runs;  // the boot that runs
  const char* boot_id;
  const char* first_boot_id;
  Match match;
  const char* why;
};

struct FirstBesideADirtyLine : ::testing::TestWithParam<Line> {};

TEST_P(FirstBesideADirtyLine, WaitsWhereARestartMayHaveBroughtIt) {
  const Line& line = GetParam();
  const LedgerEntries entries{{kHome, dirty_line(line.boot_id, line.first_boot_id)}};
  const DriveStanding standing = standing_of(a_drive("new"), nullptr, entries, {}, line.runs);
  EXPECT_EQ(standing.match, line.match);
  EXPECT_THAT(standing.why, HasSubstr(line.why));
}

INSTANTIATE_TEST_SUITE_P(
    Each, FirstBesideADirtyLine,
    ::testing::Values(
        Line{"known_in_this_boot", "b2", "b2", "", Match::same, ""},
        Line{"first_seen_in_this_boot", "b2", "", "b2", Match::same, ""},
        Line{"known_in_an_earlier_boot", "b2", "b1", "", Match::unknown, "the host was restarted"},
        Line{"first_seen_in_an_earlier_boot", "b2", "", "b1", Match::unknown,
             "the host was restarted"},
        Line{"first_seen_in_this_boot_and_known_in_another", "b2", "b1", "b2", Match::unknown,
             "the host was restarted"},
        Line{"no_boot_noted", "b2", "", "", Match::unknown, "the host may have been restarted"},
        Line{"this_boot_not_known", "", "b1", "", Match::unknown,
             "the host may have been restarted"},
        Line{"no_boot_known_at_all", "", "", "", Match::unknown,
             "the host may have been restarted"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Standing, OfADriveWhoseSerialAnswersAtADirtyAddressNamesIt) {
  LedgerEntry dirty = dirty_line("b2", "");
  dirty.serial = "S";
  const LedgerEntries entries{{kHome, dirty}};
  const std::vector<SeenDrive> seen{{kHome, "S", {}}, {kHere, "S", {}}};
  const DriveStanding standing = standing_of(a_drive("S"), nullptr, entries, seen, "b2");
  EXPECT_EQ(standing.match, Match::different);
  EXPECT_THAT(standing.why, HasSubstr("its serial S is also at 0000:01:00.0"));
  // Once that address is clean the doubt stays, and says nothing of a restart.
  Record record;
  record.address = kHere;
  const DriveStanding later = standing_of(a_drive("S"), &record, {}, seen, "b2");
  EXPECT_EQ(later.match, Match::unknown);
  EXPECT_THAT(later.why, AllOf(HasSubstr("its serial S is also at 0000:01:00.0"),
                               Not(HasSubstr("restarted"))));
  EXPECT_EQ(standing_of(a_drive("S"), &record, {}, {}, "b2").match, Match::unknown);
}

// Two ports of a drive, or clones with one serial: the second waits, and nobody else does.
struct Twins : ::testing::Test {
  Twins() : world(options()) {
    world.drive(1).serial = world.drive(0).serial;
    world.tenancy_begins(0);
    world.tenancy_ends(0);
    world.drive(0).driver = "nvme";
    world.drive(0).guarded = true;  // the first of them stays dirty
  }
  static WorldOptions options() {
    WorldOptions options;
    options.scripted = true;
    options.scripted_slots = 4;
    return options;
  }
  void TearDown() override { EXPECT_EQ(world.failure.value_or(""), ""); }
  [[nodiscard]] std::vector<Stage> stages_of_the_others() const {
    return {world.record(2).stage, world.record(3).stage};
  }

  World world;
};

TEST_F(Twins, MakeNoOtherDriveWait) {
  world.start_worker();
  world.pass(10 * kMinuteMs);
  EXPECT_EQ(world.provider(1).inventory.reserved, 1);
  EXPECT_THAT(world.record(1).waiting_for,
              HasSubstr("is also at " + to_string(world.slots[0].address)));
  EXPECT_EQ(stages_of_the_others(), (std::vector{Stage::available, Stage::available}));
  EXPECT_EQ(world.provider(2).inventory.reserved, 0);
  EXPECT_EQ(world.provider(3).inventory.reserved, 0);
  EXPECT_EQ(world.erases, 0U);
}

TEST_F(Twins, MakeNewDrivesWaitWhereAddressesMayBeOthers) {
  Drive& last = world.drive(3);
  world.start_worker();
  world.pass(10 * kMinuteMs);
  world.kill_worker();
  // The host is restarted, and one that nothing is remembered of appears.
  world.store.lose_everything();
  world.disk.entries.erase(world.slots[3].address);
  last.serial = "S-new";
  world.conductor_options.boot_id += "+";
  world.start_worker();
  world.pass(10 * kMinuteMs);
  EXPECT_EQ(world.provider(3).inventory.reserved, 1);
  EXPECT_THAT(world.record(3).waiting_for, HasSubstr("--enrol"));
}

}  // namespace
}  // namespace reclaim::sim
