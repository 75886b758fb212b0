// The time line of a cleaning: where it begins and ends in a journal, and what each moment took.
#include "cli/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/journal.h"

namespace reclaim::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kDevice = "0000:c1:00.0";
constexpr std::int64_t kBegin = 1'780'000'000'000;

JournalEntry entry(std::int64_t after_ms, const char* from, const char* trigger, const char* to,
                   const char* address = kDevice) {
  return {address, from, trigger, to, "because", "", WallMs{kBegin + after_ms}};
}

std::vector<std::string> triggers(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const Moment& moment : timeline.moments) names.push_back(moment.entry.trigger);
  return names;
}

std::vector<JournalEntry> a_cleaning(std::int64_t at) {
  return {entry(at, "allocated", "dirty_seen", "pending_cleaning"),
          entry(at + 5, "pending_cleaning", "admitted", "guarding"),
          entry(at + 12, "guarding", "guards_passed", "rechecking"),
          entry(at + 900, "releasing", "released", "available")};
}

TEST(JournalLine, FitsItsTerminal) {
  JournalEntry moved = entry(0, "pending_cleaning", "admitted", "cleaning");
  moved.detail = "an operator ordered it";
  EXPECT_EQ(journal_line("", moved, 0),
            "2026-05-28T20:26:40Z 0000:c1:00.0 pending_cleaning -> cleaning       because; an "
            "operator ordered it\n");
  EXPECT_EQ(journal_line("", moved, 200), journal_line("", moved, 0));
  EXPECT_EQ(journal_line("c1", moved, 80),
            "2026-05-28T20:26:40Z c1 0000:c1:00.0 pending_cleaning -> cleaning: because; an\n"
            "  operator ordered it\n");
}

TEST(Timeline, SaysWhatEachMomentTook) {
  const Timeline shown = timeline_of(a_cleaning(0), kDevice);
  ASSERT_EQ(shown.moments.size(), 4U);
  EXPECT_FALSE(shown.begins_late);
  EXPECT_EQ(shown.moments[0].since_last_ms, 0);
  EXPECT_EQ(shown.moments[1].since_last_ms, 5);
  EXPECT_EQ(shown.moments[2].since_last_ms, 7);
  EXPECT_EQ(shown.moments[3].since_last_ms, 888);
  EXPECT_EQ(shown.moments[3].since_first_ms, 900);
}

TEST(Timeline, IsOfTheLastCleaningAlone) {
  std::vector<JournalEntry> journal = a_cleaning(0);
  const std::vector<JournalEntry> second = a_cleaning(60'000);
  journal.push_back(entry(10'000, "available", "allocation_seen", "allocated"));
  journal.insert(journal.end(), second.begin(), second.end());
  journal.push_back(entry(70'000, "available", "allocation_seen", "allocated"));
  const Timeline shown = timeline_of(journal, kDevice);
  EXPECT_THAT(triggers(shown), ElementsAre("dirty_seen", "admitted", "guards_passed", "released"));
  EXPECT_EQ(shown.moments.front().entry.at.ms, kBegin + 60'000);
}

TEST(Timeline, AnotherDeviceIsNotInIt) {
  std::vector<JournalEntry> journal = a_cleaning(0);
  journal.insert(journal.begin() + 2,
                 entry(6, "pending_cleaning", "admitted", "guarding", "0000:c2:00.0"));
  EXPECT_EQ(timeline_of(journal, kDevice).moments.size(), 4U);
  EXPECT_THAT(timeline_of(journal, "0000:c3:00.0").moments, IsEmpty());
}

TEST(Timeline, WhatStartsOverIsOneCleaning) {
  const Timeline shown = timeline_of({entry(0, "allocated", "dirty_seen", "pending_cleaning"),
                                      entry(5, "pending_cleaning", "admitted", "guarding"),
                                      entry(9, "guarding", "guards_wait", "pending_cleaning"),
                                      entry(60'000, "pending_cleaning", "admitted", "guarding")},
                                     kDevice);
  EXPECT_THAT(triggers(shown), ElementsAre("dirty_seen", "admitted", "guards_wait", "admitted"));
}

TEST(Timeline, AnotherTryAfterAnErrorIsACleaningOfItsOwn) {
  const Timeline shown = timeline_of({entry(0, "allocated", "dirty_seen", "pending_cleaning"),
                                      entry(5, "pending_cleaning", "erases_exhausted", "error"),
                                      entry(7, "error", "reserved_dropped", "error"),
                                      entry(9, "error", "operator_clean", "pending_cleaning")},
                                     kDevice);
  EXPECT_THAT(triggers(shown), ElementsAre("operator_clean"));
}

TEST(Timeline, AJournalThatWasCutSaysSo) {
  std::vector<JournalEntry> journal = a_cleaning(0);
  journal.erase(journal.begin());
  const Timeline shown = timeline_of(journal, kDevice);
  EXPECT_TRUE(shown.begins_late);
  EXPECT_THAT(triggers(shown), ElementsAre("admitted", "guards_passed", "released"));
}

TEST(Timeline, ADeviceThatWasNeverCleanedHasNone) {
  EXPECT_THAT(timeline_of({entry(0, "available", "allocation_seen", "allocated"),
                           entry(5, "allocated", "reserved_dropped", "allocated")},
                          kDevice)
                  .moments,
              IsEmpty());
}

TEST(Timeline, IsATableOfDatesAndSeconds) {
  const Table table = timeline_table(timeline_of(a_cleaning(0), kDevice));
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[3].size(), table.columns.size());
  EXPECT_EQ(table.rows[3][0], Cell(to_iso8601(WallMs{kBegin + 900})));
  EXPECT_EQ(table.rows[3][1], Cell(0.888));
  EXPECT_EQ(table.rows[3][2], Cell(0.9));
  EXPECT_EQ(table.rows[3][3], Cell(std::string("released")));
  EXPECT_EQ(table.rows[3][4], Cell(std::string("available")));
}

}  // namespace
}  // namespace reclaim::cli
