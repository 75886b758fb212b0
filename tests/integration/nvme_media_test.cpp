// The media of a sanitized drive that can show it before it is deallocated: what is on it, and what
// of that state a worker or a tenant may leave behind.
#include "nvme/controller/sanitize.h"
#include "tests/integration/surfaces_fixture.h"

namespace reclaim::nvme {
namespace {

constexpr const char* kShowsMedia = "sanicap=crypto+block+verify,dlfeat=1";
constexpr std::uint32_t kCryptoThenMedia = 0x404;

class SanitizedMediaTest : public SurfacesTest {
 protected:
  void take_with_baseline(const std::string& more = "") {
    take(kShowsMedia + (more.empty() ? std::string() : "," + more));
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
  }
  [[nodiscard]] EraseRequest request(EraseMethod method = EraseMethod::sanitize_crypto) const {
    EraseRequest request;
    request.method = method;
    request.baseline = baseline_;
    return request;
  }
  [[nodiscard]] std::uint32_t places() const {
    return static_cast<std::uint32_t>(baseline_.samples.size() + baseline_.canaries.size());
  }
  void expect_erased_without_a_look(const EraseRequest& request, std::uint32_t cdw10,
                                    std::string_view because) {
    const auto evidence = erase(*drive_, request);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(evidence->cdw10, cdw10);
    EXPECT_EQ(evidence->scdw10, cdw10);
    EXPECT_EQ(evidence->media.places_read, 0U);
    EXPECT_EQ(evidence->media.not_read.substr(0, because.size()), because);
    EXPECT_TRUE(verify(*drive_, *evidence).ok());
    EXPECT_EQ(media().tenant_blocks_kept, 0U);
  }
};

TEST_F(SanitizedMediaTest, IsReadBeforeItIsDeallocatedAndLeftAsASanitizeLeavesIt) {
  for (const EraseMethod method : {EraseMethod::sanitize_crypto, EraseMethod::sanitize_block}) {
    SCOPED_TRACE(to_string(method));
    take_with_baseline("deallocate_ms=100");
    const auto evidence = erase(*drive_, request(method));
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(evidence->cdw10, sanitize_cdw10(method, true));
    EXPECT_EQ(evidence->scdw10, evidence->cdw10);
    EXPECT_EQ(evidence->sstat, 0x101);
    const SanitizedMedia& media = evidence->media;
    EXPECT_EQ(media.places_read, places());
    EXPECT_EQ(media.places_compared, baseline_.counted());
    EXPECT_EQ(media.places_unreadable, 0U);
    EXPECT_GT(media.bytes_nonzero, media.bytes_read / 2) << "it read deallocated blocks";
    EXPECT_EQ(media.not_read, "");
    const auto report = verify(*drive_, *evidence);
    ASSERT_TRUE(report.ok()) << report.error().what;
    EXPECT_EQ(report->bytes_nonzero, 0U);
    EXPECT_EQ(report->expectation, "zeroes (DLFEAT 1)");
    throw_away();
  }
}

TEST_F(SanitizedMediaTest, ADriveThatHidesWhatItKeepsIsFoundOut) {
  take_with_baseline("hides_media=1");
  expect_error(erase(*drive_, request()), Errc::failed,
               "still holds content of before the erase (namespace 1, 65536 bytes at 0x0)");
  take_again();
  EraseRequest again = request();
  again.adopt_ours = true;
  expect_error(erase(*drive_, again), Errc::failed, "still holds content");
  expect_finding(step("recover_sanitize"), "sanitize", "led out of it", true);
  // What is read after that says nothing of it.
  EXPECT_EQ(get_media(0, 4096), std::string(4096, '\0'));
}

TEST_F(SanitizedMediaTest, ADriveThatRefusesToShowItIsErasedAllTheSame) {
  take_with_baseline("refuses_emvs=1");
  expect_erased_without_a_look(request(), 4, "the drive refuses to show it: Sanitize: ");
}

TEST_F(SanitizedMediaTest, WhatIsRefusedForAnotherReasonSaysThat) {
  take_with_baseline("nwpc=1");
  set("write_protect", "1:1");
  expect_error(erase(*drive_, request()), Errc::failed, "write protected");
  EXPECT_EQ(sanitizes(), 0U);
}

TEST_F(SanitizedMediaTest, ReadsThatAreRefusedAreToldAndTheDriveIsLedOut) {
  take_with_baseline("refuses_media_reads=1");
  expect_erased_without_a_look(request(), kCryptoThenMedia,
                               "it could not be read: Read: a sanitize is in progress");
}

TEST_F(SanitizedMediaTest, APlaceThatCannotBeReadIsNotCounted) {
  take_with_baseline();
  set("io_error_at", "1:0:4096");
  const auto evidence = erase(*drive_, request());
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_EQ(evidence->media.places_unreadable, 1U);
  EXPECT_EQ(evidence->media.places_read, places() - 1);
  EXPECT_EQ(evidence->media.places_compared, baseline_.counted() - 1);
  EXPECT_EQ(evidence->media.not_read, "");
}

TEST_F(SanitizedMediaTest, NobodyAsksForItWhereNothingWouldBeCompared) {
  take_with_baseline();
  expect_erased_without_a_look(EraseRequest(), 4, "");
  request_.rules.relaxed.media_verification = true;
  take_again();
  expect_erased_without_a_look(request(), 4, "");
  request_.rules = Rules{};
  request_.rules.verify = VerifyLevel::log;
  take_again();
  expect_erased_without_a_look(request(), 4, "");
}

TEST_F(SanitizedMediaTest, TheNextWorkerReadsItAndLeadsTheDriveOut) {
  take_with_baseline("duration_ms=3600000");
  StopFlag end;
  const auto stopped = drive_->erase(
      request(), [&end](EraseProgress) { end.request(); }, end);
  expect_error(stopped, Errc::unknown, "the sanitize goes on in the drive");
  set("advance_ms", "3600000");
  take_again();
  EraseRequest again = request();
  again.adopt_ours = true;
  const auto evidence = erase(*drive_, again);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_TRUE(evidence->adopted);
  EXPECT_EQ(evidence->cdw10, kCryptoThenMedia);
  EXPECT_EQ(evidence->media.places_read, places());
  EXPECT_TRUE(verify(*drive_, *evidence).ok());
  EXPECT_EQ(sanitizes(), 1U);
}

TEST_F(SanitizedMediaTest, ALossOfPowerThatCancelsItIsTold) {
  take_with_baseline("duration_ms=3600000,power_loss_at=50");
  const auto lost = drive_->erase(
      request(), [this](EraseProgress) { set("advance_ms", "1900000"); }, stop_);
  expect_error(lost, Errc::unknown, "how the sanitize ended is not known");
  take_again();
  EraseRequest again = request();
  again.adopt_ours = true;
  const auto evidence = drive_->erase(
      again, [this](EraseProgress) { set("advance_ms", "3600000"); }, stop_);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_EQ(evidence->sstat, 0x301);
  EXPECT_EQ(evidence->media.places_read, 0U);
  EXPECT_NE(evidence->media.not_read.find("a reset leads out of it"), std::string::npos);
  EXPECT_TRUE(verify(*drive_, *evidence).ok());
}

// It would last for ever: no time ends it, and no sanitize is accepted.
TEST_F(SanitizedMediaTest, WhatATenantLeftInThatStateIsLedOut) {
  take(kShowsMedia + std::string(",deallocate_ms=100,media_verification=1"));
  step_timeout_ms_ = 20'000;  // where it is not led out, nothing else ends the first wait for it
  ASSERT_NO_FATAL_FAILURE(
      expect_finding(step("recover_sanitize"), "sanitize", "led out of it", true));
  expect_finding(step("recover_sanitize"), "sanitize", "none is running", false);
  set("media_verification", "1");
  ASSERT_TRUE(drive_->take_baseline(stop_).ok());
  set("media_verification", "1");
  EraseRequest request;
  request.timeout_ms = step_timeout_ms_;
  EXPECT_TRUE(erase(*drive_, request).ok());
}

TEST_F(SanitizedMediaTest, ADriveThatDoesNotLeaveThatStateNeedsAPowerCycle) {
  take(kShowsMedia + std::string(",media_verification=1"));
  set("refuses_sanitize", "0x4002");
  expect_error(step("recover_sanitize"), Errc::failed,
               "power-cycle it, then reclaim device clean 0000:01:00.0");
}

// Reserved bits of an older drive are no state.
TEST_F(SanitizedMediaTest, ADriveWithoutThatStateIsNeverInIt) {
  take("media_verification=1");
  StepRequest wait;
  wait.step = DriveStep::recover_sanitize;
  wait.timeout_ms = 100;
  const auto waited = drive_->run_step(
      wait, [](EraseProgress) {}, stop_);
  expect_error(waited, Errc::failed, "a sanitize that was running already does not end");
}

}  // namespace
}  // namespace reclaim::nvme
