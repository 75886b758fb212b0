// Zeroing and formatting a drive over the emulated controller: all of it is gone where the drive is
// honest, and never verified where it is not.
#include <fcntl.h>
#include <unistd.h>

#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

EraseRequest by(EraseMethod method) {
  EraseRequest request;
  request.method = method;
  return request;
}

class ZeroTest : public NvmeFixture, public ::testing::WithParamInterface<EraseMethod> {
 protected:
  void expect_all_zeroed_and_verified(std::uint64_t bytes) {
    EXPECT_EQ(evidence_.method, GetParam());
    EXPECT_EQ(evidence_.bytes_zeroed, bytes);
    EXPECT_EQ(media().nonzero_bytes, 0U);
    EXPECT_EQ(media().bytes, bytes);
    const auto report = verify(*drive_);
    ASSERT_TRUE(report.ok()) << report.error().what;
    EXPECT_EQ(report->expectation, "zeroes (written)");
    EXPECT_EQ(report->bytes_nonzero, 0U);
    EXPECT_FALSE(report->global_data_erased);
    EXPECT_GT(report->samples_counted, baseline_.canaries.size());
    EXPECT_TRUE(drive_->still_ours(report->counters).ok());
  }
};

INSTANTIATE_TEST_SUITE_P(Both, ZeroTest,
                         ::testing::Values(EraseMethod::write_zeroes, EraseMethod::overwrite),
                         [](const auto& method) { return std::string(to_string(method.param)); });

TEST_P(ZeroTest, EveryByteIsZeroedAndVerified) {
  make_drive("sanicap=none,dlfeat=0");
  erase_fully(by(GetParam()));
  expect_all_zeroed_and_verified(16U << 20U);
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back().percent, 100);
  EXPECT_EQ(sanitizes(), 0U);
}

TEST_P(ZeroTest, TheTailIsZeroedToo) {
  // No multiple of any chunk: the last block stands alone.
  const std::uint64_t size = (5U << 20U) + 4096;
  options_.write_zeroes_chunk_bytes = 1U << 20U;
  make_host({"address=0000:01:00.0,serial=S1,size=" + std::to_string(size)});
  erase_fully(by(GetParam()));
  expect_all_zeroed_and_verified(size);
}

TEST_P(ZeroTest, EveryNamespaceIsZeroed) {
  make_drive("capacity=64M");
  ASSERT_TRUE(host_->add_namespace(kAddress, 8U << 20U, false).ok());
  ASSERT_TRUE(host_->fill(kAddress, kSeed).ok());
  erase_fully(by(GetParam()));
  expect_all_zeroed_and_verified(24U << 20U);
}

TEST_P(ZeroTest, ADriveThatZeroesNothingIsFoundOut) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  drive_ = *std::move(claimed);
  baseline_ = *drive_->take_baseline(stop_);
  set("never_writes", "1");
  const auto evidence = erase(*drive_, by(GetParam()));  // it says so
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  expect_error(verify(*drive_, *evidence), Errc::failed, "old content is still there");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_P(ZeroTest, ADriveThatDropsZeroesIsFoundOut) {
  make_drive(GetParam() == EraseMethod::overwrite ? "drops_zero_writes=1" : "zeroes_nothing=1");
  erase_fully(by(GetParam()));
  expect_error(verify(*drive_), Errc::failed, "still there");
}

TEST_P(ZeroTest, ABrokenBlockIsFailedWithItsPlaceAndRemedy) {
  options_.write_zeroes_chunk_bytes = 1U << 20U;
  options_.zero_queue_depth = 1;
  options_.write_zeroes_queue_depth = 1;
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  baseline_ = *(*claimed)->take_baseline(stop_);
  set("write_error_at", "1:10489856:4096");
  const auto failed = erase(**claimed, by(GetParam()));
  expect_error(failed, Errc::failed, "the media is broken there: replace the drive");
  expect_error(failed, Errc::failed, "at 0xa00000 of namespace 1");
  expect_error(failed, Errc::failed, "10485760 of 16777216 bytes are zeroed");
  EXPECT_EQ(failed.error().raw, ENODATA);
}

TEST_P(ZeroTest, AnErrorThatPassesIsTriedAgain) {
  options_.zero_continuations_max = 0;
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  drive_ = *std::move(claimed);
  baseline_ = *drive_->take_baseline(stop_);
  set("write_error_at", "1:10485760:4096");
  set("write_error_times", "3");
  const auto evidence = erase(*drive_, by(GetParam()));
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_EQ(media().nonzero_bytes, 0U);
  EXPECT_TRUE(verify(*drive_, *evidence).ok());
  set("write_error_at", "1:10485760:4096");
  set("write_error_times", "4");  // one more than it is tried again
  expect_error(erase(*drive_, by(GetParam())), Errc::failed, "cannot zero");
}

TEST_P(ZeroTest, WhatIsReadMustBeZero) {
  make_drive();
  erase_fully(by(GetParam()));
  // Garbage, neither old content nor zeroes, in the place of one canary.
  put_media(baseline_.canaries.front().offset_bytes + 100, std::string(1, '\x01'));
  expect_error(verify(*drive_), Errc::failed, "1 bytes were zeroed and do not read as zeroes");
}

TEST_P(ZeroTest, AWriteAfterwardsIsNoticedByTheCounter) {
  make_drive();
  erase_fully(by(GetParam()));
  const auto report = verify(*drive_);
  ASSERT_TRUE(report.ok()) << report.error().what;
  set("host_writes", std::to_string(report->counters.host_writes + 1));
  expect_error(drive_->still_ours(report->counters), Errc::refused, "write commands");
}

TEST_P(ZeroTest, StoppedBeforeItBeganIsCancelled) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  stop_.request();
  expect_error(erase(**claimed, by(GetParam())), Errc::cancelled, "before anything was zeroed");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_P(ZeroTest, StoppedInTheMiddleIsUnknownAndTheNextBeginsAnew) {
  make_drive();
  request_.rules.zero_bytes_per_s_max = 1U << 20U;
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  drive_ = *std::move(claimed);
  baseline_ = *drive_->take_baseline(stop_);
  StopFlag early;
  const auto stopped = drive_->erase(
      by(GetParam()),
      [&](EraseProgress progress) {
        EXPECT_LT(progress.percent, 100);
        early.request();
      },
      early);
  expect_error(stopped, Errc::unknown, "stopped while zeroing");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
  drive_.reset();
  request_.rules.zero_bytes_per_s_max = 0;
  erase_fully(by(GetParam()));
  expect_all_zeroed_and_verified(16U << 20U);
}

TEST_P(ZeroTest, TheDeadlineIsUnknown) {
  make_drive();
  request_.rules.zero_bytes_per_s_max = 1U << 20U;
  EraseRequest request = by(GetParam());
  request.timeout_ms = 300;
  expect_erase_error(Errc::unknown, "cleanup_timeout", request);
}

TEST_P(ZeroTest, TheRateOfTheHostIsSharedByItsDrives) {
  make_drive();
  host_rate_ = std::make_shared<RateLimit>(1U << 20U, clock_);
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EXPECT_EQ(host_rate_->reserve_ms(3'600U << 20U), 0);  // another drive is busy for an hour
  StopFlag early;
  const auto stopped = (*claimed)->erase(
      by(GetParam()),
      [&](EraseProgress progress) {
        EXPECT_EQ(progress.percent, 0);
        early.request();
      },
      early);
  expect_error(stopped, Errc::cancelled, "before anything was zeroed");
}

TEST_P(ZeroTest, ANamespaceThatIsWriteProtectedIsSaidSo) {
  make_drive("nwpc=1");
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  baseline_ = *(*claimed)->take_baseline(stop_);
  set("write_protect", "1:1");
  const auto failed = erase(**claimed, by(GetParam()));
  expect_error(failed, Errc::failed, "write protected");
  expect_error(failed, Errc::failed, "cannot zero");
  expect_error(failed, Errc::failed, " at 0x");
}

TEST_P(ZeroTest, AGuardStopsItBeforeTheFirstByte) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
  expect_error(erase(**claimed, by(GetParam())), Errc::refused, "nothing was written");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_P(ZeroTest, NothingIsAdopted) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EraseRequest request = by(GetParam());
  request.adopt_ours = true;
  expect_error(erase(**claimed, request), Errc::not_found, "begins again");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

// Only where it can happen: what the kernel asks the drive to zero.
class WriteZeroesTest : public NvmeFixture {};

TEST_F(WriteZeroesTest, ADriveThatZeroesHalfIsFoundOut) {
  make_drive("zeroes_half=1");
  erase_fully(by(EraseMethod::write_zeroes));
  expect_error(verify(*drive_), Errc::failed, "still there");
}

TEST_F(WriteZeroesTest, AKeptRegionIsFoundByAFullReadWhereverItIs) {
  request_.rules.verify = VerifyLevel::full;
  options_.samples_max = 4;
  make_drive();
  set("keeps_region", "1:5000192:512");
  put_media(5'000'192, "old");
  erase_fully(by(EraseMethod::write_zeroes));
  expect_error(verify(*drive_), Errc::failed, "not verified");
}

class FormatTest : public NvmeFixture {
 protected:
  [[nodiscard]] std::uint32_t lba_format(std::uint32_t nsid) {
    return (*host_->drive(kAddress))->with([nsid](auto&, auto& state) {
      return std::uint32_t{state.namespaces[nsid - 1].lba_format};
    });
  }
};

TEST_F(FormatTest, BothKindsAreVerified) {
  for (const EraseMethod method : {EraseMethod::format_user_data, EraseMethod::format_crypto}) {
    for (const char* dlfeat : {"1", "0"}) {
      SCOPED_TRACE(std::string(to_string(method)) + " dlfeat " + dlfeat);
      make_drive("sanicap=none,fna=4,dlfeat=" + std::string(dlfeat));
      erase_fully(by(method));
      EXPECT_EQ(evidence_.commands, 1U);
      EXPECT_EQ(progress_.back().percent, 100);
      const auto report = verify(*drive_);
      ASSERT_TRUE(report.ok()) << report.error().what;
      EXPECT_EQ(report->expectation, "changed (" + std::string(to_string(method)) + ")");
      EXPECT_TRUE(drive_->still_ours(report->counters).ok());
      EXPECT_EQ(media().tenant_blocks_kept, 0U);
      drive_.reset();
      host_.reset();
      std::filesystem::remove_all(root_);
    }
  }
}

TEST_F(FormatTest, EachNamespaceOrAllAtOnceAndTheirFormatsAreKept) {
  struct Row {
    const char* fna;
    std::uint32_t commands;
  };
  for (const Row& row : {Row{"4", 2}, Row{"6", 1}, Row{"14", 2}}) {
    SCOPED_TRACE(row.fna);
    make_drive("capacity=64M,fna=" + std::string(row.fna));
    ASSERT_TRUE(host_->add_namespace(kAddress, 8U << 20U, false).ok());
    set("lba_format", "1:1");
    set("lba_format", "2:1");
    ASSERT_TRUE(host_->fill(kAddress, kSeed).ok());
    erase_fully(by(EraseMethod::format_crypto));
    EXPECT_EQ(evidence_.commands, row.commands);
    EXPECT_EQ(lba_format(1), 1U);
    EXPECT_EQ(lba_format(2), 1U);
    EXPECT_TRUE(verify(*drive_).ok());
    EXPECT_EQ(media().tenant_blocks_kept, 0U);
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
}

TEST_F(FormatTest, ADriveThatLiesIsFoundOut) {
  for (const EraseMethod method : {EraseMethod::format_user_data, EraseMethod::format_crypto}) {
    make_drive("fna=4,format_keeps_data=1");
    erase_fully(by(method));  // it says so
    expect_error(verify(*drive_), Errc::failed, "old content is still there");
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
}

TEST_F(FormatTest, ADriveThatErasesHalfIsFoundOut) {
  make_drive("erases_half=1");
  erase_fully(by(EraseMethod::format_user_data));
  expect_error(verify(*drive_), Errc::failed, "old content is still there");
}

TEST_F(FormatTest, ARefusalIsFailedAndNothingIsErased) {
  make_drive("refuses_format=0x4286");
  expect_erase_error(Errc::failed, "Opal", by(EraseMethod::format_user_data));
  set("refuses_format", "0x006");
  expect_error(erase(*drive_, by(EraseMethod::format_user_data)), Errc::unknown, "not known");
  set("refuses_format", "0x084");  // another format runs and does not end in time
  EraseRequest brief = by(EraseMethod::format_user_data);
  brief.timeout_ms = 100;
  expect_error(erase(*drive_, brief), Errc::failed, "a format is in progress");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(FormatTest, AHiddenNamespaceWouldSurviveSoNothingIsSent) {
  make_drive("capacity=64M");
  const auto hidden = host_->add_namespace(kAddress, 8U << 20U, true);
  ASSERT_TRUE(hidden.ok());
  expect_erase_error(Errc::failed, "namespace 2 is allocated, but not attached",
                     by(EraseMethod::format_user_data));
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(FormatTest, StoppedOrAdoptedNothingIsSent) {
  make_drive();
  auto claimed = claim();
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  EraseRequest request = by(EraseMethod::format_user_data);
  request.adopt_ours = true;
  expect_error(erase(**claimed, request), Errc::not_found, "begins again");
  stop_.request();
  request.adopt_ours = false;
  expect_error(erase(**claimed, request), Errc::cancelled, "before the format was sent");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

// What comes between the first namespace and the second.
class FormatInTheMiddle : public FormatTest {
 protected:
  void claim_two_namespaces() {
    make_drive("capacity=64M,fna=4");
    ASSERT_TRUE(host_->add_namespace(kAddress, 8U << 20U, false).ok());
    ASSERT_TRUE(host_->fill(kAddress, kSeed).ok());
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
  }
};

TEST_F(FormatInTheMiddle, AStopIsUnknown) {
  claim_two_namespaces();
  const auto stopped = drive_->erase(
      by(EraseMethod::format_crypto),
      [this](EraseProgress progress) {
        if (progress.percent > 0) stop_.request();
      },
      stop_);
  expect_error(stopped, Errc::unknown, "a part of the namespaces formatted");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_F(FormatInTheMiddle, TheDeadlineIsUnknown) {
  claim_two_namespaces();
  EraseRequest request = by(EraseMethod::format_crypto);
  request.timeout_ms = 0;
  expect_error(erase(*drive_, request), Errc::unknown, "1 of 2 commands completed");
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

}  // namespace
}  // namespace reclaim::nvme
