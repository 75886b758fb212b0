// A qualification's stages on the emulator: what each kind of drive is found to be.
#include <gtest/gtest.h>

#include "nvme/host/signatures.h"
#include "nvme/qualify/media.h"
#include "nvme/qualify/trial.h"
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

constexpr const char* kGuest =
    "<domain><name>instance-1</name><devices><hostdev mode='subsystem' type='pci'><source>"
    "<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source></hostdev>"
    "</devices></domain>";

class QualifyTest : public NvmeFixture {
 protected:
  void TearDown() override {
    context_.reset();
    NvmeFixture::TearDown();
  }
  // As the command does it.
  void claim_for_trials() {
    context_.reset();
    request_.rules = rules_for_trials();
    auto claim = Claim::create(options_, request_, &findings_, stop_, log_);
    ASSERT_TRUE(claim.ok()) << claim.error().what;
    context_ =
        std::make_unique<DriveContext>(DriveContext{options_, *std::move(claim), clock_, log_});
    const auto says = ask_drive(*context_);
    ASSERT_TRUE(says.ok()) << says.error().what;
    whole_.drive = *says;
  }
  Trial& try_method(EraseMethod method) {
    whole_.nonces.push_back(whole_.nonces.size() + 100);
    Trial& trial = whole_.trials.emplace_back();
    trial.method = method;
    Status done = lift_failed_sanitize(*context_, method, report_, stop_);
    if (done) done = prepare_trial(*context_, trial, whole_.patterns(), report_, stop_);
    if (done) done = run_trial(*context_, trial, whole_.patterns(), report_, stop_);
    if (!done) trial.failure = done.error().what;
    trial.finished = true;
    return trial;
  }
  void try_all() {
    for (const EraseMethod method : methods_of(whole_.drive.capabilities)) (void)try_method(method);
  }
  [[nodiscard]] std::string told() const {
    std::string out;
    for (const std::string& line : whole_.conclusion.reasons) out += line + "\n";
    for (const std::string& line : whole_.conclusion.notes) out += line + "\n";
    return out;
  }
  void erase_last() {
    const EntryRules entry = rules_for_last_erase(whole_);
    context_->claim.replace_rules(entry.rules);
    whole_.nonces.push_back(whole_.nonces.size() + 100);
    const auto last = [&]() -> Result<LastErase> {
      if (auto lifted = lift_failed_sanitize(*context_, entry.method, report_, stop_); !lifted) {
        return lifted.error();
      }
      const auto baseline = prepare_last_erase(*context_, whole_.patterns().back(), report_, stop_);
      if (!baseline) return baseline.error();
      return erase_at_end(*context_, entry.method, *baseline, report_, stop_);
    }();
    whole_.last_erase =
        last ? *last : LastErase{std::string(to_string(entry.method)), false, last.error().what, 0};
    whole_.conclusion = judge(whole_);
  }

  std::unique_ptr<DriveContext> context_;
  Qualification whole_;
  std::vector<std::string> doings_;
  ReportTrial report_ = [this](std::string_view doing, const EraseProgress&) {
    if (doings_.empty() || doings_.back() != doing) doings_.emplace_back(doing);
  };
};

TEST_F(QualifyTest, AGoodDriveIsRecommendedAndLeftErased) {
  make_drive("npss=4");
  claim_for_trials();
  try_all();
  ASSERT_GE(whole_.trials.size(), 4U);
  for (const Trial& trial : whole_.trials) {
    EXPECT_EQ(trial.failure, "") << to_string(trial.method);
    EXPECT_EQ(trial.before.intact, whole_.drive.capacity_bytes);
    EXPECT_EQ(trial.after.bytes(), whole_.drive.capacity_bytes);
    EXPECT_EQ(trial.after.intact + trial.after.traces, 0U);
    EXPECT_EQ(trial.power, "power state 4 for 20 ms, and back to 0");
    EXPECT_EQ(trial.reset, "the controller was reset and came back");
  }
  erase_last();
  EXPECT_EQ(whole_.conclusion.verdict, Verdict::recommended) << told();
  EXPECT_EQ(whole_.conclusion.method, "sanitize_crypto");
  EXPECT_TRUE(whole_.last_erase.verified) << whole_.last_erase.text;
  const auto look = look_at_media(
      *context_, whole_.patterns(), [](EraseProgress) {}, stop_);
  ASSERT_TRUE(look.ok()) << look.error().what;
  EXPECT_EQ(look->counts.intact + look->counts.traces, 0U);
}

TEST_F(QualifyTest, ADriveThatKeepsTheDataIsFoundOut) {
  for (const char* fault : {"lies_keeps_data", "erases_half"}) {
    context_.reset();
    whole_ = {};
    TearDown();
    SetUp();
    make_drive(std::string(fault) + "=1");
    claim_for_trials();
    const Trial& trial = try_method(EraseMethod::sanitize_crypto);
    EXPECT_TRUE(trial.claims_erased);
    EXPECT_GT(trial.after.intact, 0U) << fault;
    erase_last();
    EXPECT_EQ(whole_.conclusion.verdict, Verdict::do_not_use) << told();
    EXPECT_NE(told().find("old content is still there"), std::string::npos) << told();
    // Of such a drive every block is written by the host at the end, and read again.
    EXPECT_EQ(whole_.last_erase.method, "overwrite");
    EXPECT_TRUE(whole_.last_erase.verified) << whole_.last_erase.text;
  }
}

TEST_F(QualifyTest, ADriveWithoutGlobalDataErasedNeedsItsRelaxationAndTheEntryWorks) {
  make_drive("no_gde=1");
  claim_for_trials();
  (void)try_method(EraseMethod::sanitize_crypto);
  erase_last();
  EXPECT_EQ(whole_.conclusion.verdict, Verdict::with_relaxations) << told();
  EXPECT_EQ(whole_.conclusion.relax, std::vector<std::string>{"global_data_erased"});
  EXPECT_TRUE(whole_.last_erase.verified) << whole_.last_erase.text;
}

TEST_F(QualifyTest, ADriveThatDoesNotComeBackFromAResetFails) {
  make_drive("reset_fails=1");
  claim_for_trials();
  const Trial& trial = try_method(EraseMethod::sanitize_crypto);
  EXPECT_TRUE(trial.claims_erased);
  EXPECT_TRUE(trial.reset_failed);
  EXPECT_NE(trial.failure.find("did not bring the drive back"), std::string::npos) << trial.failure;
  EXPECT_EQ(judge(whole_).verdict, Verdict::do_not_use);
}

TEST_F(QualifyTest, ADriveThatLosesWritesIsFoundOutBeforeItIsErased) {
  make_drive("never_writes=1");
  claim_for_trials();
  (void)try_method(EraseMethod::sanitize_crypto);
  EXPECT_EQ(judge(whole_).verdict, Verdict::do_not_use);
  EXPECT_NE(judge(whole_).reasons.front().find("does not keep what is written"), std::string::npos);
}

TEST_F(QualifyTest, ASanitizeThatFailsIsNoLieAndTheNextMethodLiftsIt) {
  make_drive("fails_at=50");
  claim_for_trials();
  const Trial failed = try_method(EraseMethod::sanitize_crypto);
  EXPECT_FALSE(failed.claims_erased);
  EXPECT_NE(failed.failure, "");
  set("fails_at", "off");
  const Trial& next = try_method(EraseMethod::sanitize_block);
  EXPECT_EQ(next.failure, "");
  EXPECT_EQ(next.before.intact, whole_.drive.capacity_bytes);
  erase_last();
  EXPECT_EQ(whole_.conclusion.method, "sanitize_block") << told();
}

TEST_F(QualifyTest, AStopInTheMiddleIsNoFailureOfTheDrive) {
  make_drive("duration_ms=3600000");
  claim_for_trials();
  whole_.nonces.push_back(1);
  Trial& trial = whole_.trials.emplace_back();
  trial.method = EraseMethod::sanitize_crypto;
  ASSERT_TRUE(prepare_trial(*context_, trial, whole_.patterns(), report_, stop_).ok());
  const ReportTrial interrupt = [this](std::string_view, const EraseProgress&) { stop_.request(); };
  const auto ended = run_trial(*context_, trial, whole_.patterns(), interrupt, stop_);
  ASSERT_FALSE(ended.ok());
  EXPECT_NE(ended.error().what.find("goes on in the drive"), std::string::npos)
      << ended.error().what;
  EXPECT_FALSE(trial.claims_erased);
  // A later run waits for what goes on before it writes.
  StopFlag later;
  set("advance_ms", "3600000");
  EXPECT_TRUE(settle(*context_, later).ok());
}

// Only what the drive's own log tells lets an unreadable edge pass, and nothing else with it.
TEST_F(QualifyTest, AFailedSanitizeIsToldByTheLogAndItsEdgesAloneMayBeUnreadable) {
  make_drive("fails_at=50");
  claim_for_trials();
  EXPECT_FALSE(is_barred_by_sanitize(*context_).value());
  EXPECT_FALSE(try_method(EraseMethod::sanitize_crypto).claims_erased);
  EXPECT_TRUE(is_barred_by_sanitize(*context_).value());
  const auto strict = find_signatures(options_, request_.address, stop_);
  ASSERT_FALSE(strict.ok());
  EXPECT_NE(strict.error().what.find("cannot be searched"), std::string::npos)
      << strict.error().what;
  const auto lenient = find_signatures(options_, request_.address, stop_, Edges::may_be_barred);
  ASSERT_TRUE(lenient.ok()) << lenient.error().what;
  EXPECT_TRUE(lenient->empty());
}

// A guest that came while all was read: what was read tells nothing, and nothing more is done.
TEST_F(QualifyTest, WhoComesWhileItIsReadEndsIt) {
  make_drive();
  claim_for_trials();
  whole_.nonces.push_back(1);
  Trial& trial = whole_.trials.emplace_back();
  trial.method = EraseMethod::sanitize_crypto;
  const ReportTrial comes = [this](std::string_view doing, const EraseProgress&) {
    if (doing == "read it back") write("run/libvirt/qemu/guest.xml", kGuest);
  };
  const auto prepared = prepare_trial(*context_, trial, whole_.patterns(), comes, stop_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, Errc::busy) << prepared.error().what;
  EXPECT_EQ(trial.before.bytes(), 0U);
}

TEST_F(QualifyTest, AnErrorOfADriveThatIsGoneIsToldFromOneOfABlock) {
  for (const int gone : {ENODEV, ENXIO}) EXPECT_TRUE(is_gone(Error{Errc::failed, "", gone}));
  EXPECT_FALSE(is_gone(Error{Errc::failed, "", EIO}));
}

}  // namespace
}  // namespace reclaim::nvme
