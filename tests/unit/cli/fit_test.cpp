// Tables on a terminal: what is narrowed, what is left out, and that nothing is lost otherwise.
#include "cli/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/certificate_list.h"
#include "cli/complain.h"
#include "cli/format.h"

namespace reclaim::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kAnyWidth = 0;

std::string list(const Table& table, std::size_t width, std::vector<std::string> columns = {}) {
  const auto text = format_list(table, {Format::table, std::move(columns), width});
  EXPECT_TRUE(text.ok()) << text.error().what;
  return *text;
}

TEST(Wrap, BreaksBehindBlanksAndDashes) {
  EXPECT_THAT(wrap("an instance has its", 12), ElementsAre("an instance", "has its"));
  EXPECT_THAT(wrap("c1c9a1de-9c39-4f0a", 14), ElementsAre("c1c9a1de-9c39-", "4f0a"));
  EXPECT_THAT(wrap("exactly this", 12), ElementsAre("exactly this"));
}

// So that a command can be copied.
TEST(Wrap, AWordThatALineCanHoldStaysWhole) {
  EXPECT_THAT(wrap("run udevadm control --reload", 22),
              ElementsAre("run udevadm control", "--reload"));
  EXPECT_THAT(wrap("it is /run/reclaim", 12), ElementsAre("it is", "/run/reclaim"));
}

TEST(Wrap, APathKeepsItsFirstSlash) {
  EXPECT_THAT(wrap("it is /run/reclaim", 11), ElementsAre("it is /run/", "reclaim"));
  EXPECT_THAT(wrap("it lies /run", 9), ElementsAre("it lies", "/run"));
}

TEST(Wrap, BreaksInTheMiddleOfWhatHasNoPlaceForIt) {
  EXPECT_THAT(wrap("0123456789", 4), ElementsAre("0123", "4567", "89"));
}

TEST(Wrap, CountsWhatTheTerminalShows) {
  EXPECT_THAT(wrap("\u65e5\u672c\u8a9e", 4), ElementsAre("\u65e5\u672c", "\u8a9e"));
  EXPECT_THAT(wrap("\x80\x80\x80\x80\x80", 4), ElementsAre("\x80\x80\x80\x80", "\x80"));
}

TEST(Wrap, ANumberKeepsItsUnit) {
  EXPECT_THAT(wrap("a mean of 8.6 s, 3 at once", 14),
              ElementsAre("a mean of", "8.6 s, 3 at", "once"));
  EXPECT_THAT(wrap("1920 GB (95 %)", 13), ElementsAre("1920 GB", "(95 %)"));
  EXPECT_THAT(wrap("wait 8 steps", 7), ElementsAre("wait 8", "steps"));
}

TEST(Say, WhatDoesNotFitTheTerminalGoesOnBelow) {
  std::ostringstream err;
  EXPECT_EQ(complain(err, Error{Errc::usage, "no device 'a\x1b' here: look"}), 2);
  EXPECT_EQ(err.str(), "reclaim: no device 'a\\x1b' here: look\n") << "no terminal";
  err.str("");
  set_line_width(err, 24);
  EXPECT_EQ(complain(err, Error{Errc::failed, "no device 'a\x1b' here: look"}), 1);
  EXPECT_EQ(err.str(), "reclaim: no device\n  'a\\x1b' here: look\n");
}

TEST(Wrap, IsOneLineForNothing) {
  EXPECT_THAT(wrap("", 8), ElementsAre(""));
  EXPECT_THAT(wrap("             ", 8), ElementsAre(""));
}

TEST(WidestThatFits, NarrowsTheWideOnly) {
  EXPECT_EQ(widest_that_fits({12, 7, 60, 90}, 200), 90U);
  EXPECT_EQ(widest_that_fits({12, 7, 60, 90}, 80), 24U);
  EXPECT_EQ(widest_that_fits({12, 7, 60, 90}, 72), 20U);
  EXPECT_EQ(widest_that_fits({12, 7, 60, 90}, 71), std::nullopt);
  EXPECT_EQ(widest_that_fits({}, 80), std::nullopt);
}

Table checks() {
  return {{"Check", "Detail"}, {{"redis", "connected; it persists and does not evict"}}};
}

TEST(Fit, ATableFitsItsTerminal) {
  EXPECT_EQ(list(checks(), 40), R"(+-------+------------------------------+
| Check | Detail                       |
+-------+------------------------------+
| redis | connected; it persists and   |
|       | does not evict               |
+-------+------------------------------+
)");
}

TEST(Fit, WithoutATerminalNothingChanges) {
  EXPECT_EQ(list(checks(), kAnyWidth), R"(+-------+-------------------------------------------+
| Check | Detail                                    |
+-------+-------------------------------------------+
| redis | connected; it persists and does not evict |
+-------+-------------------------------------------+
)");
}

TEST(Fit, OtherFormatsAreNotForTheEye) {
  const auto text = format_list(checks(), {Format::value, {}, 10});
  EXPECT_EQ(*text, "redis connected; it persists and does not evict\n");
}

Table drives() {
  return {{"Address", "Model", "Instance", "Note"},
          {{"0000:c1:00.0", "Reclaim Emulated NVMe", "7b0c6f6e-0a0e-4a44-8f5f-5d1f6c0f8a11", "x"}},
          {"Instance", "Model"}};
}

TEST(Fit, WhatIsSpareGoesAndIsNamed) {
  EXPECT_EQ(list(drives(), 60), R"(+--------------+-----------------------+------+
| Address      | Model                 | Note |
+--------------+-----------------------+------+
| 0000:c1:00.0 | Reclaim Emulated NVMe | x    |
+--------------+-----------------------+------+
hidden columns: Instance (show one with -c NAME)
)");
}

TEST(Fit, TheNamesOfWhatGoesFitTheTerminal) {
  Table table = drives();
  table.hidden_are = "-f json has them";
  EXPECT_THAT(list(table, 45), ::testing::HasSubstr("|\n+--------------+------+\n"
                                                    "hidden columns: Instance, Model (-f json has\n"
                                                    "them)\n"));
}

TEST(Fit, TheListOfCertificatesNamesWhatItHides) {
  Table table = certificate_table(false);
  Certificate it;
  it.id = it.instance = it.project = it.user = "7b0c6f6e-0a0e-4a44-8f5f-5d1f6c0f8a11";
  it.address = "0000:c1:00.0";
  it.serial = "S4YPNE0N800123";
  table.rows.push_back(certificate_row(false, "", 1, it));
  EXPECT_THAT(list(table, 80), AllOf(HasSubstr("hidden columns: "), HasSubstr("Instance, "),
                                     HasSubstr("(show one with -c NAME)")));
}

TEST(Fit, WhatWasAskedForStays) {
  EXPECT_EQ(list(drives(), 30, {"Address", "Instance"}),
            R"(+--------------+--------------------------------------+
| Address      | Instance                             |
+--------------+--------------------------------------+
| 0000:c1:00.0 | 7b0c6f6e-0a0e-4a44-8f5f-5d1f6c0f8a11 |
+--------------+--------------------------------------+
)");
}

TEST(Fit, TimesOnATerminalAreToTheSecond) {
  const Table table{{"At"}, {{"2026-11-25T21:00:00.123Z"}, {"2026-11-25T21:00:00.123+"}}};
  EXPECT_THAT(list(table, kAnyWidth), HasSubstr("21:00:00.123Z |"));
  EXPECT_THAT(list(table, 80), AllOf(HasSubstr("21:00:00Z "), HasSubstr("21:00:00.123+ |")));
}

TEST(Fit, HelpGoesOnWhereItBegan) {
  const std::string help =
      "Gives devices back to a cloud that is large.\n"
      "  --state X         All devices in this state instead\n"
      "  --only TEXT:{available,allocated,pending_cleaning}\n"
      "                    Short\n";
  EXPECT_EQ(fit_help(help, 20, 40),
            "Gives devices back to a cloud that is\nlarge.\n"
            "  --state X         All devices in this\n                    state instead\n"
            "  --only TEXT:{available,allocated,\n    pending_cleaning}\n"
            "                    Short\n");
  EXPECT_EQ(fit_help(help, 20, 0), help);
  EXPECT_EQ(fit_help(help, 20, 39), help);
}

// Nothing has to be narrowed, and no column is as wide as what can be wrapped.
TEST(Fit, ANarrowTableStaysAsItIs) {
  EXPECT_EQ(list({{"ARQ"}, {{""}}, {}}, 80), "+-----+\n| ARQ |\n+-----+\n|     |\n+-----+\n");
}

TEST(Fit, AShowWrapsItsValues) {
  const auto text =
      format_show({{"why", "nobody holds it, and it was written to"}}, {Format::table, {}, 34});
  EXPECT_EQ(*text, R"(+-------+------------------------+
| Field | Value                  |
+-------+------------------------+
| why   | nobody holds it, and   |
|       | it was written to      |
+-------+------------------------+
)");
}

}  // namespace
}  // namespace reclaim::cli
