// Which drive an order accepts, as the command line takes it from what the worker saw.
#include "cli/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.h"
#include "handlers/accepted_drive.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;

Record with(const FoundDrive& found) {
  Record record;
  record.address = *parse_pci_address("0000:c1:00.0");
  record.serial = "of the one before";
  record.found = found;
  return record;
}

std::string accepts(const FoundDrive& found, const std::string& serial) {
  const auto drive = drive_to_accept(with(found), serial, "--serial");
  return drive ? accepting_text(*drive, with(found).address) : drive.error().what;
}

TEST(DriveToAccept, IsTheOneThatTheWorkerSawLast) {
  const FoundDrive found{"X", "Y", "dsn=00-01 slot=7"};
  EXPECT_EQ(accepts(found, ""), "accepting drive serial X, model Y in 0000:c1:00.0");
  EXPECT_EQ(accepts(found, "X"), accepts(found, ""));
  EXPECT_EQ(*drive_to_accept(with(found), "", "--serial"), found)
      << "its hardware binds the order too";
}

TEST(DriveToAccept, IsTheOneThatIsNamedThoughAnotherWasSeen) {
  const auto drive = drive_to_accept(with({"X", "Y", "dsn=00-01"}), "Z", "--serial");
  ASSERT_TRUE(drive.ok());
  EXPECT_EQ(*drive, (FoundDrive{"Z", "", ""}));
}

TEST(DriveToAccept, IsToldByItsHardwareWhereNoSerialCanBeRead) {
  const FoundDrive found{"", "", "dsn=00-01 slot=7"};
  EXPECT_EQ(accepts(found, ""),
            "accepting the drive with dsn=00-01 slot=7 in 0000:c1:00.0: its serial cannot be read "
            "before it is claimed");
  EXPECT_EQ(*drive_to_accept(with(found), "Z", "--serial"),
            (FoundDrive{"Z", "", "dsn=00-01 slot=7"}));
}

TEST(DriveToAccept, HasToBeToldByItsLabelWhereNothingElseTells) {
  for (const char* hardware : {"", "slot=7"}) {
    EXPECT_THAT(accepts({"", "", hardware}, ""), HasSubstr("--serial"));
    EXPECT_THAT(accepts({"", "", hardware}, "Z"), HasSubstr("accepting drive serial Z in"));
  }
}

// Who may write to Redis has no text of his signed in the operator's name.
TEST(DriveToAccept, HasASerialThatADriveCanHave) {
  const std::string longest(20, 'x');
  EXPECT_EQ(drive_to_accept(with({longest, "", ""}), "", "--serial")->serial, longest);
  EXPECT_EQ(drive_to_accept(with({"", "", ""}), "A b~1", "--serial")->serial, "A b~1");
  for (const std::string& none : {longest + "x", std::string("S1\n"), std::string("S\xc3\xa9")}) {
    EXPECT_THAT(accepts({none, "Y", "slot=7"}, ""), HasSubstr("give the serial")) << none;
    EXPECT_EQ(*drive_to_accept(with({none, "Y", "dsn=00-01"}), "", "--serial"),
              (FoundDrive{"", "", "dsn=00-01"}))
        << none;
    EXPECT_THAT(accepts({"", "", ""}, none), HasSubstr("is no serial of a drive")) << none;
    EXPECT_THAT(accepts({none, "", ""}, none), HasSubstr("is no serial of a drive")) << none;
  }
}

// The request id is what the other commands print.
TEST(OrderWithdraw, AsksForTheIdThatTheListShows) {
  const config::Settings settings;
  NullLogger quiet;
  Session session(settings, quiet);
  for (const char* id : {"req-7c0e2f0e-7c0e-4d0e-9d55-0000000000aa", "7", "7-", "7-x", ""}) {
    std::ostringstream out;
    std::ostringstream err;
    OrderOptions options;
    options.id = id;
    EXPECT_EQ(run_order_withdraw(session, options, out, err), 2) << id;
    EXPECT_THAT(err.str(), HasSubstr("`reclaim device order list` shows it in the column ID"));
  }
}

}  // namespace
}  // namespace reclaim::cli
