// A drive that a tenant locked: reverted by the PSID on its label, once, behind every guard, and
// left as it is without one. And a SID that was blocked is blocked again.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "nvme/controller/residue.h"
#include "tests/integration/surfaces_fixture.h"

namespace reclaim::nvme {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPsid = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
constexpr const char* kOther = "00000000000000000000000000000000";
constexpr const char* kLocked = "a locking range is locked";

class OpalTest : public SurfacesTest {
 protected:
  void SetUp() override {
    SurfacesTest::SetUp();
    options_.psid_file = folder_ / "psids";
    options_.psid_owner = ::geteuid();
  }
  void write_psids(const std::string& text) {
    std::ofstream(options_.psid_file) << text;
    ASSERT_EQ(::chmod(options_.psid_file.c_str(), 0600), 0);
  }
  // Enrolled, and then taken by a tenant who locks it.
  void take_locked(const std::string& more = "") {
    take(std::string("opal_block_sid=1,opal_psid=") + kPsid + (more.empty() ? "" : "," + more));
    before_ = enrol();
    for (const char* each : {"opal_sid_set", "opal_enabled", "opal_locked", "opal_mbr"}) {
      set(each, "1");
    }
  }
  template <typename Field>
  [[nodiscard]] Field security(Field emulator::SecurityState::*field) {
    return (*host_->drive(kAddress))->with([field](auto&, auto& state) {
      return state.security.*field;
    });
  }
  [[nodiscard]] bool locked() { return security(&emulator::SecurityState::locked); }
  [[nodiscard]] int tries() { return security(&emulator::SecurityState::psid_tries); }
  [[nodiscard]] Result<StepReport> reset() { return step("reset_controller_state", before_); }

  std::string before_;
};

TEST_F(OpalTest, ALockedDriveIsRevertedAndErasedAsAlways) {
  for (const bool enrolled : {true, false}) {
    take_locked();
    if (!enrolled) before_.clear();
    write_psids("# labels\nOTHER " + std::string(kOther) + "\nS1 " + kPsid + "\n");
    const auto report = reset();
    expect_finding(report, "opal", "reverted by PSID; it was: a locking range is locked", true);
    expect_finding(report, "opal", "not locked", false);
    EXPECT_THAT(report->reverted, HasSubstr(kLocked));
    EXPECT_FALSE(locked());
    // This drive kept its data, and no revert counts as their erasure.
    EXPECT_NE(media().tenant_blocks_kept, 0U);
    erase_fully_again();
    EXPECT_EQ(media().tenant_blocks_kept, 0U);
    const auto again = reset();
    EXPECT_EQ(resets(again), 0U);
    EXPECT_EQ(again->reverted, "");
    throw_away();
  }
}

TEST_F(OpalTest, AnAnswerMayTakeItsTime) {
  take_locked("opal_answers_after=2");
  write_psids("S1 " + std::string(kPsid) + "\n");
  expect_finding(reset(), "opal", "reverted by PSID", true);
}

TEST_F(OpalTest, AWrongPsidIsTriedOnce) {
  take_locked();
  write_psids("S1 " + std::string(kOther) + "\n");
  const auto report = reset();
  ASSERT_FALSE(report.ok());
  expect_error(report, Errc::failed, "does not accept its PSID");
  EXPECT_THAT(report.error().what, HasSubstr(kLocked));
  EXPECT_THAT(report.error().what, Not(HasSubstr(kOther)));
  EXPECT_EQ(tries(), 1);
  for (int more = 0; more < 4; ++more) expect_error(reset(), Errc::failed, "does not accept");
  write_psids("S1 " + std::string(kPsid) + "\n");
  expect_error(reset(), Errc::failed, "bars its PSID after wrong ones");
  EXPECT_TRUE(locked());
}

TEST_F(OpalTest, WithoutALineOfItsOwnItStaysLocked) {
  take_locked();
  write_psids("OTHER " + std::string(kPsid) + "\n");
  expect_error(reset(), Errc::failed, "its serial number and that PSID into " + options_.psid_file);
  options_.psid_file.clear();
  take_again();
  expect_error(reset(), Errc::failed, "a file, and name the file in [nvme] psid_file");
  options_.psid_file = folder_ / "psids";
  take_again();
  write_psids("S1 " + std::string(kPsid) + " 1\n");
  expect_error(reset(), Errc::failed, "psids:1: ");
  ASSERT_EQ(::chmod(options_.psid_file.c_str(), 0644), 0);
  expect_error(reset(), Errc::failed, "others than its owner may read");
  EXPECT_TRUE(locked());
  EXPECT_EQ(tries(), 0);
}

TEST_F(OpalTest, AGuardThatAppearsStopsTheRevert) {
  take_locked();
  write_psids("S1 " + std::string(kPsid) + "\n");
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(reset(), Errc::refused, "mounted");
  EXPECT_TRUE(locked());
}

TEST_F(OpalTest, WhatTheDriveSaysOfItselfCounts) {
  take_locked("opal_reverts_nothing=1");
  write_psids("S1 " + std::string(kPsid) + "\n");
  const auto report = reset();
  ASSERT_FALSE(report.ok());
  expect_error(report, Errc::failed, "after a revert of TCG Opal by PSID: opal: a locking range");
  EXPECT_THAT(report.error().what,
              AllOf(HasSubstr("power-cycle the drive first"), Not(HasSubstr("serial number"))));
}

TEST_F(OpalTest, NothingIsRevertedThatIsQuarantinedAllTheSame) {
  take_locked("rpmb=1");
  write_psids("S1 " + std::string(kPsid) + "\n");
  set("rpmb_key", "1");
  const auto report = reset();
  ASSERT_FALSE(report.ok());
  expect_error(report, Errc::failed, "rpmb: ");
  EXPECT_THAT(report.error().what, Not(HasSubstr("let Reclaim revert it")));
  EXPECT_TRUE(locked());
}

TEST_F(OpalTest, AnOwnerOfTheEnrolmentKeepsHisDrive) {
  take(std::string("opal_block_sid=1,opal_sid_set=1,opal_psid=") + kPsid);
  before_ = enrol();
  write_psids("S1 " + std::string(kPsid) + "\n");
  set("opal_locked", "1");
  const auto his = reset();
  ASSERT_FALSE(his.ok());
  expect_error(his, Errc::failed, kLocked);
  EXPECT_THAT(his.error().what, Not(HasSubstr("let Reclaim revert it")));
  EXPECT_TRUE(locked());
  // And without a baseline nothing tells whose he is.
  set("opal_locked", "0");
  before_.clear();
  const auto of_nobody = reset();
  ASSERT_FALSE(of_nobody.ok());
  expect_error(of_nobody, Errc::failed, "the SID has an owner");
  EXPECT_THAT(of_nobody.error().what, Not(HasSubstr("let Reclaim revert it")));
  EXPECT_TRUE(security(&emulator::SecurityState::sid_set));
}

TEST_F(OpalTest, ABlockOfTheSidIsPutBackUntilThePowerGoes) {
  take("opal_block_sid=1,opal_sid_blocked=1,opal_block_ends=1");
  before_ = enrol();
  EXPECT_EQ(resets(reset()), 0U);
  // A guest's reset, which ends a block of the firmware's.
  set("opal_sid_blocked", "0");
  expect_finding(reset(), "opal", "it is blocked until the next power cycle", true);
  EXPECT_TRUE(security(&emulator::SecurityState::sid_blocked));
  EXPECT_FALSE(security(&emulator::SecurityState::block_ends));
  EXPECT_EQ(resets(reset()), 0U);
}

TEST_F(OpalTest, ARevertedDriveIsBlockedAsItWas) {
  take(std::string("opal_block_sid=1,opal_sid_blocked=1,opal_psid=") + kPsid);
  before_ = enrol();
  write_psids("S1 " + std::string(kPsid) + "\n");
  for (const char* each : {"opal_sid_set", "opal_enabled"}) set(each, "1");
  set("opal_sid_blocked", "0");
  const auto report = reset();
  expect_finding(report, "opal", "reverted by PSID", true);
  expect_finding(report, "opal", "it is blocked until the next power cycle", true);
  EXPECT_TRUE(security(&emulator::SecurityState::sid_blocked));
}

TEST_F(OpalTest, ADriveThatCannotBeBlockedAnyMoreIsNotGoodEnough) {
  take("opal_block_sid=1,opal_sid_blocked=1");
  before_ = enrol();
  set("opal_sid_blocked", "0");
  set("opal_block_sid", "0");
  expect_error(reset(), Errc::failed, "opal: still as it was found");
}

TEST_F(OpalTest, WhoMayBeOwnedIsSaid) {
  take("opal_block_sid=1");
  expect_finding(reset(), "opal", "a tenant can own and lock the drive", false);
}

}  // namespace
}  // namespace reclaim::nvme
