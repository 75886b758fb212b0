// How much is looked at after an erase, and what of a drive's faults is put up with by name.
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

class VerifyTest : public NvmeFixture {
 protected:
  static constexpr std::uint64_t kBytes = 16U << 20U;

  void level(VerifyLevel level) { request_.rules.verify = level; }
  void again() {
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
  // An offset that no sample and no canary of the baseline touches.
  [[nodiscard]] std::uint64_t unseen_offset() const {
    for (std::uint64_t at = 8U << 20U; at < kBytes; at += 4096) {
      const auto touches = [at](const Sample& sample) {
        return at < sample.offset_bytes + sample.length_bytes && sample.offset_bytes < at + 4096;
      };
      if (std::none_of(baseline_.samples.begin(), baseline_.samples.end(), touches) &&
          std::none_of(baseline_.canaries.begin(), baseline_.canaries.end(), touches)) {
        return at;
      }
    }
    ADD_FAILURE() << "the samples cover everything";
    return 0;
  }
};

TEST_F(VerifyTest, EachLevelReadsWhatItSays) {
  options_.samples_max = 16;
  for (const VerifyLevel each :
       {VerifyLevel::log, VerifyLevel::sample, VerifyLevel::nist, VerifyLevel::full}) {
    for (const EraseMethod method : {EraseMethod::sanitize_block, EraseMethod::overwrite}) {
      if (each == VerifyLevel::log && method == EraseMethod::overwrite) continue;
      SCOPED_TRACE(std::string(to_string(each)) + " " + std::string(to_string(method)));
      level(each);
      make_host({"address=0000:01:00.0,serial=S1,size=64M,duration_ms=50,dlfeat=1"});
      EraseRequest request;
      request.method = method;
      erase_fully(request);
      progress_.clear();
      const auto report = verify(*drive_);
      ASSERT_TRUE(report.ok()) << report.error().what;
      EXPECT_EQ(report->level, each);
      const std::uint64_t whole = 64U << 20U;
      if (each == VerifyLevel::log) {
        EXPECT_EQ(report->bytes_read, 0U);
        EXPECT_EQ(report->samples_read, 0U);
      } else {
        EXPECT_GE(report->samples_counted, baseline_.canaries.size());
      }
      if (each == VerifyLevel::sample) {
        EXPECT_LT(report->bytes_read, whole / 10);
      }
      if (each == VerifyLevel::nist) {
        EXPECT_GE(report->samples_read, 2000U);
        EXPECT_GE(report->bytes_read, whole / 10);
        EXPECT_LT(report->bytes_read, whole / 4);
      }
      if (each == VerifyLevel::full) {
        EXPECT_GE(report->bytes_read, whole);
      }
      if (each == VerifyLevel::nist || each == VerifyLevel::full) {
        ASSERT_FALSE(progress_.empty());
        EXPECT_EQ(progress_.back().percent, 100);
      }
      EXPECT_TRUE(drive_->still_ours(report->counters).ok());
      again();
    }
  }
}

TEST_F(VerifyTest, OneBlockThatWasMissedIsFoundByAFullRead) {
  options_.samples_max = 8;
  for (const VerifyLevel each : {VerifyLevel::sample, VerifyLevel::full}) {
    SCOPED_TRACE(to_string(each));
    level(each);
    make_drive("dlfeat=1");
    EraseRequest request;
    request.method = EraseMethod::write_zeroes;
    erase_fully(request);
    put_media(unseen_offset() + 4095, "x");
    const auto report = verify(*drive_);
    if (each == VerifyLevel::sample) {
      EXPECT_TRUE(report.ok());
    } else {
      expect_error(report, Errc::failed, "1 bytes were zeroed and do not read as zeroes");
    }
    again();
  }
}

TEST_F(VerifyTest, ACanaryThatWasMovedIsFoundByAFullRead) {
  options_.samples_max = 8;
  level(VerifyLevel::full);
  make_drive("dlfeat=0");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  drive_ = *std::move(claimed);
  baseline_ = *drive_->take_baseline(stop_);
  const Sample& canary = baseline_.canaries.front();
  const std::string pattern = get_media(canary.offset_bytes, canary.length_bytes);
  const auto evidence = erase(*drive_);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  ASSERT_TRUE(verify(*drive_, *evidence).ok());
  put_media(unseen_offset(), pattern);
  expect_error(verify(*drive_, *evidence), Errc::failed,
               "a canary written before the erase is met again");
}

TEST_F(VerifyTest, OldContentThatWasMovedIsFoundByAFullRead) {
  options_.samples_max = 8;
  options_.sample_bytes = 4096;
  level(VerifyLevel::full);
  make_drive("dlfeat=0");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  drive_ = *std::move(claimed);
  baseline_ = *drive_->take_baseline(stop_);
  const auto sample = std::find_if(baseline_.samples.begin(), baseline_.samples.end(),
                                   [](const Sample& each) { return !each.blank; });
  ASSERT_NE(sample, baseline_.samples.end());
  const std::string old = get_media(sample->offset_bytes, sample->length_bytes);
  const auto evidence = erase(*drive_);
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  put_media(unseen_offset(), old);
  expect_error(verify(*drive_, *evidence), Errc::failed,
               "content of before the erase is met again");
}

TEST_F(VerifyTest, ALyingDriveIsFoundOutByEveryLevelThatReads) {
  for (const VerifyLevel each : {VerifyLevel::sample, VerifyLevel::nist, VerifyLevel::full}) {
    for (const char* lie : {"lies_keeps_data=1,dlfeat=0", "erases_half=1,dlfeat=0"}) {
      SCOPED_TRACE(std::string(to_string(each)) + " " + lie);
      level(each);
      make_drive(lie);
      erase_fully();
      expect_error(verify(*drive_), Errc::failed, "still there");
      again();
    }
  }
}

TEST_F(VerifyTest, TheLogAloneWantsASanitizeAndGlobalDataErased) {
  level(VerifyLevel::log);
  make_drive();
  EraseRequest zero;
  zero.method = EraseMethod::overwrite;
  erase_fully(zero);
  expect_error(verify(*drive_), Errc::failed, "verify=log needs a sanitize");
  drive_.reset();
  erase_fully();
  set("gde", "0");
  expect_error(verify(*drive_), Errc::failed, "Global Data Erased");
}

TEST_F(VerifyTest, WithoutGlobalDataErasedOnlyByName) {
  make_drive("no_gde=1");
  expect_erase_error(Errc::failed, "Global Data Erased");
  drive_.reset();
  request_.rules.relaxed.global_data_erased = true;
  set("duration_ms", "300");
  erase_fully();
  EXPECT_FALSE(evidence_.global_data_erased);
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_FALSE(report->global_data_erased);
  EXPECT_EQ(names(report->relaxed), std::vector<std::string>{"global_data_erased"});
  EXPECT_TRUE(drive_->still_ours(report->counters).ok());
  set("host_writes", std::to_string(report->counters.host_writes + 1));
  expect_error(drive_->still_ours(report->counters), Errc::refused, "write commands");
}

// A crypto erase that ends before the log is first looked at leaves it as the last one did.
TEST_F(VerifyTest, WithoutGlobalDataErasedTheCanariesDecideForALogThatDidNotMove) {
  request_.rules.relaxed.global_data_erased = true;
  make_drive("no_gde=1,duration_ms=0,dlfeat=0");
  erase_fully();
  drive_.reset();
  erase_fully();
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(sanitizes(), 2U);
  drive_.reset();
  set("lies_keeps_data", "1");
  erase_fully();
  baseline_.samples.clear();
  expect_error(verify(*drive_), Errc::failed, "the canary written before the erase is still there");
  baseline_.canaries.clear();
  expect_error(verify(*drive_), Errc::failed, "no canary");
}

TEST_F(VerifyTest, ALogThatDidNotMoveProvesNothingWhereCanariesMayStayUnreadable) {
  request_.rules.relaxed.global_data_erased = true;
  request_.rules.relaxed.unreadable_blocks = true;
  make_drive("no_gde=1,duration_ms=300");
  erase_fully();
  drive_.reset();
  set("duration_ms", "0");
  set("lies_keeps_data", "1");
  expect_erase_error(Errc::failed, "older sanitize");
}

TEST_F(VerifyTest, UnreadableBlocksOnlyByNameAndCounted) {
  for (const VerifyLevel each : {VerifyLevel::sample, VerifyLevel::full}) {
    SCOPED_TRACE(to_string(each));
    level(each);
    request_.rules.relaxed = Relaxations{};
    make_drive();
    erase_fully();
    set("io_error_at", "1:0:131072");
    expect_error(verify(*drive_), Errc::failed, "put unreadable_blocks into relax");
    drive_.reset();
    set("io_error_at", "0:0:0");
    request_.rules.relaxed.unreadable_blocks = true;
    erase_fully();
    set("io_error_at", "1:0:131072");
    const auto report = verify(*drive_);
    ASSERT_TRUE(report.ok()) << report.error().what;
    EXPECT_GE(report->places_unreadable, 2U);
    EXPECT_GE(report->bytes_unreadable, 131'072U);
    EXPECT_TRUE(report->relaxed.unreadable_blocks);
    if (each == VerifyLevel::full) {
      EXPECT_GE(report->bytes_read, kBytes - 131'072);
    }
    // The next tenant's baseline has nothing of them.
    drive_.reset();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    const auto baseline = (*claimed)->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    EXPECT_EQ(baseline->samples.front().sha256, "");
    claimed->reset();
    again();
  }
}

TEST_F(VerifyTest, ADriveThatCannotBeReadAfterACryptoEraseProvesNothing) {
  make_drive("unreadable_after_crypto=1");
  erase_fully();
  expect_error(verify(*drive_), Errc::failed, "put unreadable_blocks into relax");
  drive_.reset();
  request_.rules.relaxed.unreadable_blocks = true;
  erase_fully();
  EXPECT_LT(baseline_.counted(), 12U);  // next to nothing can be sampled
  expect_error(verify(*drive_), Errc::failed, "nothing shows");
}

// A tenant can make blocks unreadable; it must not keep the drive from being cleaned.
TEST_F(VerifyTest, WhatCouldNotBeReadBeforeHasToBeReadableAfterwards) {
  make_drive("io_error_at=1:0:131072");
  erase_fully();
  EXPECT_EQ(baseline_.samples.front(), (Sample{1, 0, 65'536, "", true}));
  EXPECT_EQ(decode_baseline(encode_baseline(baseline_)).value(), baseline_);
  expect_error(verify(*drive_), Errc::failed, "cannot read");
  set("io_error_at", "0:0:0");
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->samples_read, baseline_.samples.size() + baseline_.canaries.size());
  EXPECT_EQ(report->samples_counted, baseline_.counted());
  EXPECT_LT(report->samples_counted, report->samples_read);
}

TEST_F(VerifyTest, ADriveOfWhichNothingCanBeReadHasNoBaseline) {
  make_drive("io_error_at=1:0:16777216");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  expect_error((*claimed)->take_baseline(stop_), Errc::failed, "cannot read");
}

TEST_F(VerifyTest, NothingReadableIsUnverifiedEvenWhenRelaxed) {
  request_.rules.relaxed.unreadable_blocks = true;
  make_drive();
  erase_fully();
  set("io_error_at", "1:0:" + std::to_string(kBytes));
  expect_error(verify(*drive_), Errc::failed, "nothing shows");
}

TEST_F(VerifyTest, ABrokenDlfeatOnlyByName) {
  make_drive("dlfeat=1");
  erase_fully();
  put_media(baseline_.samples.front().offset_bytes, "neither old nor zero");
  expect_error(verify(*drive_), Errc::failed, "put deallocated_value into relax");
  drive_.reset();
  request_.rules.relaxed.deallocated_value = true;
  erase_fully();
  put_media(baseline_.samples.front().offset_bytes, "again neither old nor zero");
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->places_off_value, 1U);
}

// What the first look found is no verdict: the page that counts is read after the erase.
TEST_F(VerifyTest, HealthIsJudgedByWhatTheDriveSaysAfterItsErase) {
  make_drive("percentage_used=100");
  erase_fully();
  auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_TRUE(report->unfit.empty());
  EXPECT_FALSE(report->health.empty());
  set("percentage_used", "101");
  report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  ASSERT_EQ(report->unfit.size(), 1U);
  EXPECT_NE(report->unfit.front().find("101 % of its endurance is used"), std::string::npos);
}

TEST_F(VerifyTest, HealthIsComparedWithTheEnrolmentOfItsClaim) {
  make_drive("media_errors=4");
  erase_fully();
  request_.enrolment = *drive_->enrolment();
  drive_.reset();
  set("media_errors", "5");
  erase_fully();
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  ASSERT_EQ(report->unfit.size(), 1U);
  EXPECT_NE(report->unfit.front().find("1 media errors during the tenancy"), std::string::npos);
}

TEST_F(VerifyTest, HealthThatNobodyWantsJudgedIsNot) {
  request_.rules.health.judged = false;
  make_drive("critical_warning=6");
  erase_fully();
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_TRUE(report->unfit.empty());
  EXPECT_TRUE(drive_->still_ours(report->counters).ok());
}

TEST_F(VerifyTest, ADriveThatIsTooHotIsOursAndNotToBeGivenBackYet) {
  make_drive("critical_warning=2");
  erase_fully();
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_TRUE(report->unfit.empty());
  expect_error(drive_->still_ours(report->counters), Errc::busy, "temperature is outside");
  set("host_writes", "99999");
  expect_error(drive_->still_ours(report->counters), Errc::refused, "written to");
  set("critical_warning", "0");
  EXPECT_TRUE(drive_->still_ours(verify(*drive_)->counters).ok());
}

TEST_F(VerifyTest, AnUnmanagedDriveThatIsTooHotIsWaitedForAWhile) {
  options_.hot_wait_ms = 60;
  options_.hot_poll_ms = 20;
  make_host({"address=0000:01:00.0,serial=S1,size=16M,duration_ms=150,driver=vfio-pci"}, false);
  request_.managed = false;
  erase_fully();
  set("critical_warning", "2");
  auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  ASSERT_EQ(report->unfit.size(), 1U);
  EXPECT_NE(report->unfit.front().find("temperature is outside"), std::string::npos);
  set("critical_warning", "0");
  report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_TRUE(report->unfit.empty());
}

TEST_F(VerifyTest, AWriteDuringTheVerificationIsNoticedByTheCounter) {
  level(VerifyLevel::full);
  make_drive();
  EraseRequest request;
  request.method = EraseMethod::overwrite;
  erase_fully(request);
  const auto report = drive_->verify(
      baseline_, evidence_, [this](EraseProgress) { set("host_writes", "99999"); }, stop_);
  expect_error(report, Errc::failed, "written to while it was verified");
}

TEST_F(VerifyTest, AFullReadCanBeStopped) {
  level(VerifyLevel::full);
  make_drive();
  erase_fully();
  stop_.request();
  expect_error(verify(*drive_), Errc::cancelled, "stopped");
}

TEST_F(VerifyTest, AFullReadSharesTheRateOfTheHost) {
  level(VerifyLevel::full);
  host_rate_ = std::make_shared<RateLimit>(1U << 20U, clock_);
  make_drive();
  erase_fully();
  EXPECT_EQ(host_rate_->reserve_ms(3'600U << 20U), 0);  // another drive is busy for an hour
  StopFlag early;
  const auto stopped = drive_->verify(
      baseline_, evidence_,
      [&](EraseProgress progress) {
        EXPECT_EQ(progress.percent, 0);
        early.request();
      },
      early);
  expect_error(stopped, Errc::cancelled, "stopped");
}

TEST_F(VerifyTest, AFullReadHasADeadline) {
  level(VerifyLevel::full);
  options_.verify_timeout_ms = 0;
  options_.verify_queue_depth = 1;
  options_.verify_chunk_bytes = 65'536;
  make_host({"address=0000:01:00.0,serial=S1,size=1G,duration_ms=50"}, false);
  erase_fully();
  expect_error(verify(*drive_), Errc::failed, "did not end within");
}

}  // namespace
}  // namespace reclaim::nvme
