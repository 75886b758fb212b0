// Sanitize where the drive or the world gets in its way: each refusal has a name and a remedy, and
// whatever comes between, only an end that was seen counts.
#include <set>
#include <thread>

#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

class SanitizeTest : public NvmeFixture {
 protected:
  void claim_with_baseline() {
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
  }
  // Lets a sanitize end that was seen to run.
  std::function<void(EraseProgress)> finish() {
    return [this](EraseProgress) { set("advance_ms", "3600000"); };
  }
  // As after a restart of the worker, while the sanitize goes on.
  void expect_adopted_and_verified() {
    drive_.reset();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    EraseRequest adopt;
    adopt.adopt_ours = true;
    const auto evidence = (*claimed)->erase(adopt, finish(), stop_);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_TRUE(evidence->adopted);
    EXPECT_TRUE(verify(**claimed, *evidence).ok());
    EXPECT_EQ(sanitizes(), 1U);
    EXPECT_EQ(media().tenant_blocks_kept, 0U);
  }

  std::thread later_;
};

TEST_F(SanitizeTest, EachRefusalHasItsOwnWordsAndRemedy) {
  make_drive();
  claim_with_baseline();
  struct Row {
    const char* status;
    const char* says;
  };
  const Row rows[] = {
      {"0x4001", "does not know the command"},
      {"0x4002", "finds a field of the command invalid"},
      {"0x400c", "wants something done before"},
      {"0x4015", "unlock or revert it"},
      {"0x401c", "waits for one that succeeds"},
      {"0x4020", "nvme set-feature -f 0x84"},
      {"0x4023", "power-cycle the drive to lift a lockdown"},
      {"0x410b", "reset the host or power-cycle the drive"},
      {"0x4110", "nvme subsystem-reset"},
      {"0x4111", "nvme reset"},
      {"0x4123", "persistent memory region"},
      {"0x4286", "PSID"},
  };
  std::set<std::string> texts;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.status);
    set("refuses_sanitize", row.status);
    const auto refused = erase(*drive_);
    expect_error(refused, Errc::failed, row.says);
    texts.insert(refused.error().what);
  }
  EXPECT_EQ(texts.size(), std::size(rows)) << "two refusals are told alike";
  EXPECT_EQ(sanitizes(), 0U);
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(SanitizeTest, WhatATenantLeftInTheWayIsRefusedByTheDriveItself) {
  make_drive("nwpc=1");
  claim_with_baseline();
  set("write_protect", "1:1");
  expect_error(erase(*drive_), Errc::failed, "write protected");
  set("write_protect", "1:0");
  set("pmr", "1");
  expect_error(erase(*drive_), Errc::failed, "persistent memory region");
  set("pmr", "0");
  set("lockdown", "0x84");
  expect_error(erase(*drive_), Errc::failed, "lockdown");
  set("lockdown", "off");
  EXPECT_EQ(sanitizes(), 0U);
  EXPECT_TRUE(erase(*drive_).ok());
}

TEST_F(SanitizeTest, OneThatIsAlwaysInTheWayEndsAtTheDeadline) {
  make_drive();
  claim_with_baseline();
  set("refuses_sanitize", "0x001d");
  EraseRequest request;
  request.timeout_ms = 200;
  expect_error(erase(*drive_, request), Errc::failed, "a sanitize is in progress");
}

TEST_F(SanitizeTest, AResetInBetweenDoesNotEndIt) {
  make_drive("duration_ms=400,reset_at=50");
  claim_with_baseline();
  const auto evidence = erase(*drive_);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_TRUE(verify(*drive_, *evidence).ok());
}

TEST_F(SanitizeTest, APowerLossInBetweenIsUnknownAndThenAdopted) {
  make_drive("duration_ms=3600000,power_loss_at=50");
  claim_with_baseline();
  const auto lost = drive_->erase(
      {}, [&](EraseProgress) { set("advance_ms", "1900000"); }, stop_);
  expect_error(lost, Errc::unknown, "how the sanitize ended is not known");
  expect_adopted_and_verified();
}

TEST_F(SanitizeTest, ALogThatCannotBeReadForAWhileIsWaitedFor) {
  options_.log_failures_max = 1'000'000;  // however late the machine ends the silence
  make_drive("duration_ms=600");
  claim_with_baseline();
  bool silent = false;
  const auto evidence = drive_->erase(
      {},
      [&](EraseProgress) {
        if (silent) return;
        silent = true;
        set("refuses_log", "0x0006");
        later_ = std::thread([this] {
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          set("refuses_log", "0");
        });
      },
      stop_);
  later_.join();
  EXPECT_TRUE(silent);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_TRUE(verify(*drive_, *evidence).ok());
}

TEST_F(SanitizeTest, ALogThatStaysUnreadableIsUnknownAndThenAdopted) {
  options_.log_failures_max = 3;
  make_drive("duration_ms=3600000");
  claim_with_baseline();
  const auto lost = drive_->erase(
      {}, [&](EraseProgress) { set("refuses_log", "0x0006"); }, stop_);
  expect_error(lost, Errc::unknown, "how the sanitize ended is not known");
  set("refuses_log", "0");
  expect_adopted_and_verified();
}

TEST_F(SanitizeTest, GarbageInTheLogIsNeverAnErasure) {
  for (int seed = 0; seed < 8; ++seed) {
    make_drive("duration_ms=0");
    claim_with_baseline();
    set("garbage_sanitize_log", "1");
    EraseRequest request;
    request.timeout_ms = 500;
    request.stall_timeout_ms = 500;
    EXPECT_FALSE(erase(*drive_, request).ok());
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
}

TEST_F(SanitizeTest, UnexpectedDeallocationIsInTheEvidence) {
  make_drive("unexpected_deallocation=1");
  erase_fully();
  EXPECT_TRUE(evidence_.unexpectedly_deallocated());
  drive_.reset();
  set("unexpected_deallocation", "0");
  erase_fully();
  EXPECT_FALSE(evidence_.unexpectedly_deallocated());
}

TEST_F(SanitizeTest, MayTakeTwiceWhatTheDriveEstimates) {
  make_drive("duration_ms=1200,estimate_crypto_s=5");
  claim_with_baseline();
  EraseRequest request;
  request.timeout_ms = 300;
  const auto evidence = erase(*drive_, request);
  EXPECT_TRUE(evidence.ok()) << evidence.error().what;
  set("duration_ms", "3600000");
  set("estimate_crypto_s", "0");
  expect_error(erase(*drive_, request), Errc::unknown, "did not end within 0 s");
}

TEST_F(SanitizeTest, AnEstimateThatIsNotReportedIsNone) {
  make_drive("duration_ms=3600000,estimate_crypto_s=0xffffffff");
  claim_with_baseline();
  const auto evidence = drive_->erase(
      {},
      [this](EraseProgress progress) {
        if (progress_.empty()) set("advance_ms", "3600000");
        progress_.push_back(progress);
      },
      stop_);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  ASSERT_GT(progress_.size(), 1U);
  EXPECT_EQ(progress_.front().eta_s, -1);
}

TEST_F(SanitizeTest, AFailedOneIsRecoveredWithoutABaseline) {
  make_drive("fails_at=40");
  claim_with_baseline();
  expect_error(erase(*drive_), Errc::failed, "reports that the sanitize failed");
  set("fails_at", "off");
  const auto evidence = erase(*drive_);  // no canary before it: the log moved from 3 to 1
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_EQ(sanitizes(), 2U);
  EXPECT_TRUE(drive_->take_baseline(stop_).ok());
}

TEST_F(SanitizeTest, WithoutACanaryALogThatDoesNotMoveProvesNothing) {
  make_drive("duration_ms=0");
  claim_with_baseline();
  ASSERT_TRUE(erase(*drive_).ok());
  set("lies_keeps_data", "1");
  expect_error(erase(*drive_), Errc::failed, "older sanitize");
}

// A worker that ended after it had recorded the erase and before it had sent it; the log shows the
// last cleaning's, on a drive whose Global Data Erased no write clears.
class NeverSent : public SanitizeTest {
 protected:
  void clean_then_end_before_the_command(VerifyLevel level) {
    request_.rules.verify = level;
    make_drive();
    erase_fully();
    drive_.reset();
    ASSERT_TRUE(host_->fill(kAddress, kSeed).ok());  // the next tenancy
    claim_with_baseline();
    set("gde", "1");
    drive_.reset();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
    adopt_.adopt_ours = true;
  }
  EraseRequest adopt_;
};

TEST_F(NeverSent, IsNotAdoptedWhereOnlyTheLogIsBelieved) {
  clean_then_end_before_the_command(VerifyLevel::log);
  expect_error(erase(*drive_, adopt_), Errc::not_found, "no sanitize of ours to adopt");
}

TEST_F(NeverSent, IsNotAdoptedWhereCanariesMayStayUnreadable) {
  request_.rules.relaxed.unreadable_blocks = true;
  clean_then_end_before_the_command(VerifyLevel::sample);
  expect_error(erase(*drive_, adopt_), Errc::not_found, "no sanitize of ours to adopt");
}

// Nor where canaries would tell: a tenant whom nobody saw would be told of by Global Data Erased
// alone, and this drive's says nothing.
TEST_F(NeverSent, IsNotAdoptedWhereCanariesAreRead) {
  clean_then_end_before_the_command(VerifyLevel::sample);
  expect_error(erase(*drive_, adopt_), Errc::not_found, "no sanitize of ours to adopt");
}

TEST_F(SanitizeTest, OneThatRunsIsAdoptedWhereOnlyTheLogIsBelieved) {
  request_.rules.verify = VerifyLevel::log;
  make_drive("duration_ms=3600000");
  claim_with_baseline();
  EraseRequest brief;
  brief.timeout_ms = 1;
  expect_error(erase(*drive_, brief), Errc::unknown, "goes on in the drive");
  expect_adopted_and_verified();
}

}  // namespace
}  // namespace reclaim::nvme
