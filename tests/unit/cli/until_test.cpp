// The end of something, as an operator names it.
#include "cli/until.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace reclaim::cli {
namespace {

// Central Europe's, whatever the machine's is: 2026-11-29, 22:30 there.
const WallMs kNow = *from_iso8601("2026-11-29T21:30:00Z");

class Until : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { zone("CET-1CEST,M3.5.0,M10.5.0/3"); }
  static void TearDownTestSuite() {
    unsetenv("TZ");
    tzset();
  }
  static void zone(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
  static std::string at(const char* text, WallMs now = kNow) {
    const auto until = parse_until(text, now);
    return until ? to_iso8601_seconds(*until) : until.error().what;
  }
};

TEST_F(Until, AnHourIsTheNextOneOfThisMachine) {
  EXPECT_EQ(at("06:00"), "2026-11-30T05:00:00Z");
  EXPECT_EQ(at("23:15"), "2026-11-29T22:15:00Z");
  EXPECT_EQ(at("22:30"), "2026-11-30T21:30:00Z") << "now is over";
  EXPECT_EQ(local_time_text(*parse_until("06:00", kNow)), "2026-11-30 06:00 CET");
}

TEST_F(Until, AnHourOfAfterTheClocksWereSetIsThatHour) {
  EXPECT_EQ(at("06:00", *from_iso8601("2026-10-24T20:00:00Z")), "2026-10-25T05:00:00Z");
  EXPECT_EQ(at("06:00", *from_iso8601("2026-03-28T20:00:00Z")), "2026-03-29T04:00:00Z");
  EXPECT_EQ(at("06:00", *from_iso8601("2026-12-31T20:00:00Z")), "2027-01-01T05:00:00Z");
}

TEST_F(Until, ADateOrALengthIsTakenToo) {
  EXPECT_EQ(at("2026-12-01T06:00"), "2026-12-01T05:00:00Z");
  EXPECT_EQ(at("90m"), "2026-11-29T23:00:00Z");
  EXPECT_EQ(at("8h"), "2026-11-30T05:30:00Z");
  EXPECT_EQ(at("2d"), "2026-12-01T21:30:00Z");
}

TEST_F(Until, ATimeThatAListPrintedIsTakenAsItIs) {
  EXPECT_EQ(at("2026-11-30T20:00:00Z"), "2026-11-30T20:00:00Z");
  EXPECT_EQ(at("2026-11-30T20:00:00.500Z"), "2026-11-30T20:00:00Z");
  EXPECT_EQ(at("2026-11-29T21:30:00Z"), "2026-11-29T21:30:00Z is over");
}

TEST_F(Until, AllElseIsRefused) {
  for (const char* text : {"", "6", "24:00", "06:60", "06:00h", "tomorrow", "-1h", "0h", "9999999h",
                           "2026-11-31T06:00", "2026-13-01T06:00", "2026-12-01", "h",
                           "2026-11-31T06:00:00Z", "2026-11-30T06:00:00", "2026-11-30T06:00:00z"}) {
    EXPECT_FALSE(parse_until(text, kNow).ok()) << text;
  }
  EXPECT_EQ(at("2026-11-29T06:00"), "2026-11-29T06:00 is over");
}

}  // namespace
}  // namespace reclaim::cli
