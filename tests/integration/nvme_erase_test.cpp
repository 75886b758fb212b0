// A drive's way through baseline, erase and verification, over the emulated controller: the honest
// ones end verified, the lying and the broken ones never do.
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

using EraseTest = NvmeFixture;

EraseRequest block_erase() {
  EraseRequest request;
  request.method = EraseMethod::sanitize_block;
  return request;
}

TEST_F(EraseTest, CryptoEraseIsVerified) {
  make_drive();
  erase_fully();
  EXPECT_EQ(evidence_.cdw10, 4U);
  EXPECT_EQ(evidence_.scdw10, 4U);
  EXPECT_TRUE(evidence_.global_data_erased);
  EXPECT_FALSE(evidence_.adopted);
  EXPECT_EQ(evidence_.sstat & 7U, 1U);
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back().percent, 100);
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->samples_read, baseline_.samples.size() + baseline_.canaries.size());
  EXPECT_EQ(report->samples_counted, baseline_.counted());
  EXPECT_GT(report->samples_counted, baseline_.canaries.size());
  EXPECT_EQ(media().tenant_blocks_kept, 0U);
  EXPECT_TRUE(drive_->still_ours(report->counters).ok());
}

TEST_F(EraseTest, BlockEraseIsVerifiedToReadAsPromised) {
  make_drive("dlfeat=1");
  erase_fully(block_erase());
  EXPECT_EQ(evidence_.scdw10, 2U);
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->expectation, "zeroes (DLFEAT 1)");
  EXPECT_EQ(report->bytes_nonzero, 0U);
  EXPECT_EQ(media().nonzero_bytes, 0U);
}

TEST_F(EraseTest, DrivesThatReadAsOnesOrAsNoiseAreVerifiedToo) {
  for (const char* dlfeat : {"2", "0"}) {
    SCOPED_TRACE(dlfeat);
    make_drive(std::string("dlfeat=") + dlfeat);
    erase_fully();
    const auto report = verify(*drive_);
    ASSERT_TRUE(report.ok()) << report.error().what;
    EXPECT_GT(report->bytes_nonzero, 0U);
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
}

TEST_F(EraseTest, UnexpectedDeallocationIsSuccess) {
  make_drive("unexpected_deallocation=1");
  erase_fully();
  EXPECT_EQ(evidence_.sstat & 7U, 4U);
  EXPECT_TRUE(verify(*drive_).ok());
}

TEST_F(EraseTest, ADriveThatLiesAndKeepsTheDataIsFoundOut) {
  make_drive("lies_keeps_data=1");
  erase_fully();  // it says so
  expect_error(verify(*drive_), Errc::failed, "not verified");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(EraseTest, ADriveThatErasesHalfIsFoundOut) {
  make_drive("erases_half=1,dlfeat=0");
  erase_fully();
  expect_error(verify(*drive_), Errc::failed, "old content is still there");
}

TEST_F(EraseTest, ABlankDriveReliesOnItsCanaries) {
  make_drive("", false);
  erase_fully();
  EXPECT_EQ(baseline_.counted(), baseline_.canaries.size());
  EXPECT_FALSE(baseline_.canaries.empty());
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->samples_counted, baseline_.canaries.size());
}

TEST_F(EraseTest, ABlankDriveThatKeepsTheCanariesIsFoundOut) {
  make_drive("lies_keeps_data=1,dlfeat=0", false);
  erase_fully();
  expect_error(verify(*drive_), Errc::failed, "canary");
}

TEST_F(EraseTest, WithoutAnythingThatCountsItIsUnverified) {
  make_drive("", false);
  erase_fully();
  baseline_.canaries.clear();
  expect_error(verify(*drive_), Errc::failed, "nothing shows");
}

TEST_F(EraseTest, WithoutGlobalDataErasedNothingIsErased) {
  make_drive("no_gde=1");
  expect_erase_error(Errc::failed, "Global Data Erased");
  EXPECT_EQ(sanitizes(), 1U);
}

TEST_F(EraseTest, AnotherCommandInTheLogIsNotOurs) {
  make_drive("wrong_scdw10=1");
  expect_erase_error(Errc::failed, "SCDW10");
}

TEST_F(EraseTest, AFailureInTheMiddleIsFailedAndTheNextBaselineSaysWhatToDo) {
  make_drive("fails_at=40");
  expect_erase_error(Errc::failed, "reports that the sanitize failed");
  expect_error(drive_->take_baseline(stop_), Errc::failed, "nvme sanitize");
}

TEST_F(EraseTest, AStallIsUnknownNotFailed) {
  make_drive("stalls_at=1");
  EraseRequest request;
  request.stall_timeout_ms = 200;
  expect_erase_error(Errc::unknown, "is stalled", request);
}

TEST_F(EraseTest, TheDeadlineIsUnknownNotFailed) {
  make_drive("duration_ms=3600000");
  EraseRequest request;
  request.timeout_ms = 200;
  expect_erase_error(Errc::unknown, "cleanup_timeout", request);
}

TEST_F(EraseTest, RefusalsAreFailedAndNameTheRemedy) {
  make_drive("refuses_sanitize=0x4286");
  expect_erase_error(Errc::failed, "Opal");
  set("refuses_sanitize", "0");
  set("firmware_pending", "2");
  expect_error(erase(*drive_), Errc::failed, "conventional reset");
  EXPECT_EQ(sanitizes(), 0U);
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(EraseTest, WriteProtectedMediaIsSaidSo) {
  make_drive("nwpc=1");
  set("write_protect", "1:1");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  expect_error((*claimed)->take_baseline(stop_), Errc::failed, "cannot write");
}

TEST_F(EraseTest, ADriveThatLosesWritesHasNoCanary) {
  make_drive("never_writes=1");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  expect_error((*claimed)->take_baseline(stop_), Errc::failed, "read back");
}

TEST_F(EraseTest, UnreadableMediaAfterTheEraseIsUnverified) {
  make_drive();
  erase_fully();
  set("io_error_at", "1:0:4096");
  expect_error(verify(*drive_), Errc::failed, "cannot read");
}

TEST_F(EraseTest, AWriteAfterTheEraseIsNoticed) {
  make_drive();
  erase_fully();
  auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  set("host_writes", "4242");
  expect_error(drive_->still_ours(report->counters), Errc::refused, "write commands");
  set("host_writes", std::to_string(report->counters.host_writes));
  EXPECT_TRUE(drive_->still_ours(report->counters).ok());
  set("gde", "0");
  expect_error(drive_->still_ours(report->counters), Errc::refused, "Global Data Erased");
  expect_error(verify(*drive_), Errc::failed, "Global Data Erased");
}

TEST_F(EraseTest, ASwappedDriveIsNotOurs) {
  make_drive();
  erase_fully();
  auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  set("serial_changes", "1");
  expect_error(drive_->still_ours(report->counters), Errc::refused, "serial");
  expect_error(verify(*drive_), Errc::refused, "serial");
}

TEST_F(EraseTest, DescriptorsOfADriveBoundAnewAreDead) {
  make_drive();
  erase_fully();
  auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  ASSERT_TRUE(host_->bind(kAddress, "vfio-pci").ok());
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  expect_error(drive_->still_ours(report->counters), Errc::refused, "does not answer");
}

TEST_F(EraseTest, OurRunningSanitizeIsAdoptedAfterARestart) {
  make_drive("duration_ms=3600000");
  {
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    auto baseline = (*claimed)->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    StopFlag early;
    const auto left = (*claimed)->erase(
        {}, [&](EraseProgress) { early.request(); }, early);
    expect_error(left, Errc::unknown, "goes on in the drive");
  }
  auto claimed = claim();  // also while the sanitize runs
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EraseRequest request;
  request.adopt_ours = true;
  const auto evidence = (*claimed)->erase(
      request, [&](EraseProgress) { set("advance_ms", "3600000"); }, stop_);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_TRUE(evidence->adopted);
  EXPECT_EQ(sanitizes(), 1U);
  const auto report = verify(**claimed, *evidence);
  EXPECT_TRUE(report.ok()) << report.error().what;
  // Once it has ended, somebody may have come after it.
  expect_error(erase(**claimed, request), Errc::not_found, "no sanitize of ours to adopt: erased");
  EXPECT_EQ(sanitizes(), 1U);
}

TEST_F(EraseTest, NothingOfOursToAdoptIsNotFoundAndNothingIsSent) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EraseRequest request;
  request.adopt_ours = true;
  expect_error(erase(**claimed, request), Errc::not_found, "never sanitized");
  // An older success of the very same command does not count either: the canary was written since.
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  ASSERT_TRUE(erase(**claimed).ok());
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  expect_error(erase(**claimed, request), Errc::not_found, "Global Data Erased");
  EXPECT_EQ(sanitizes(), 1U);
}

TEST_F(EraseTest, ASanitizeThatIsNotOursIsWaitedForThenOursRuns) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  StopFlag early;
  EraseRequest other = block_erase();
  static_cast<void>((*claimed)->erase(
      other, [&](EraseProgress) { early.request(); }, early));
  EraseRequest adopt;
  adopt.adopt_ours = true;
  expect_error(erase(**claimed, adopt), Errc::not_found, "another sanitize");
  const auto evidence = erase(**claimed);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_EQ(evidence->scdw10, 4U);
  EXPECT_FALSE(evidence->adopted);
  EXPECT_EQ(sanitizes(), 2U);
}

TEST_F(EraseTest, ABaselineWaitsForARunningSanitizeAndOurOwnEraseFollows) {
  make_drive();
  {
    auto first = claim();
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE((*first)->take_baseline(stop_).ok());
    StopFlag early;
    static_cast<void>((*first)->erase(
        {}, [&](EraseProgress) { early.request(); }, early));
  }
  erase_fully();
  EXPECT_EQ(sanitizes(), 2U);
  EXPECT_TRUE(verify(*drive_).ok());
}

TEST_F(EraseTest, AnAcceptedCommandThatLeavesTheLogUnmovedProvesNothing) {
  // Global Data Erased is set before our command although the canary was written: the drive's word
  // about it is worth nothing, and an instant "success" cannot be told from the older one.
  make_drive("duration_ms=0,lies_keeps_data=1");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  ASSERT_TRUE(erase(**claimed).ok());
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  set("gde", "1");
  expect_error(erase(**claimed), Errc::failed, "older sanitize");
}

TEST_F(EraseTest, StoppedBeforeTheCommandIsCancelled) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  stop_.request();
  expect_error(erase(**claimed), Errc::cancelled, "before the sanitize was sent");
  expect_error((*claimed)->take_baseline(stop_), Errc::cancelled, "");
  EXPECT_EQ(sanitizes(), 0U);
}

TEST_F(EraseTest, ManyNamespacesAreAllLookedAt) {
  make_drive("capacity=64M");
  ASSERT_TRUE(host_->add_namespace(kAddress, 8U << 20U, false).ok());
  ASSERT_TRUE(host_->fill(kAddress, kSeed).ok());
  erase_fully();
  EXPECT_EQ(drive_->claim().namespaces().size(), 2U);
  for (const std::uint32_t nsid : {1U, 2U}) {
    EXPECT_TRUE(std::any_of(baseline_.samples.begin(), baseline_.samples.end(),
                            [nsid](const Sample& s) { return s.nsid == nsid && !s.blank; }));
  }
  EXPECT_TRUE(verify(*drive_).ok());
  EXPECT_EQ(media().tenant_blocks_kept, 0U);
}

TEST_F(EraseTest, ADriveWithoutASanitizeLogIsNotTouched) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE((*claimed)->take_baseline(stop_).ok());
  set("refuses_log", "0x4109");
  expect_error(erase(**claimed), Errc::failed, "nothing was sent");
  EraseRequest adopt;
  adopt.adopt_ours = true;
  expect_error(erase(**claimed, adopt), Errc::unknown, "");
  EXPECT_EQ(sanitizes(), 0U);
}

}  // namespace
}  // namespace reclaim::nvme
