// A zeroing that is interrupted within its claim, over the emulated controller: it goes on from
// what reads back as zeroes, and from nothing else.
#include <functional>
#include <thread>

#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {
namespace {

constexpr const char* kGoesOn = "goes on behind ";

// Does something at a certain place of the erase: when it says that it goes on.
class Listener final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    const auto at = text.find(kGoesOn);
    if (at == std::string_view::npos) return;
    positions.push_back(
        std::stoull(std::string(text.substr(at + std::string_view(kGoesOn).size()))));
    if (on_going_on) on_going_on();
  }
  std::vector<std::uint64_t> positions;
  std::function<void()> on_going_on;
};

class ZeroAgainTest : public NvmeFixture, public ::testing::WithParamInterface<EraseMethod> {
 protected:
  static constexpr std::uint64_t kAll = 16U << 20U;
  static constexpr std::uint64_t kBroken = 10U << 20U;

  void SetUp() override {
    NvmeFixture::SetUp();
    options_.write_zeroes_chunk_bytes = 1U << 20U;
    options_.zero_queue_depth = 1;
    options_.write_zeroes_queue_depth = 1;
    options_.verify_queue_depth = 1;
    options_.read_retry_pause_ms = 1;
    options_.zero_continue_pause_ms = 1;
    request_.rules.verify = VerifyLevel::full;
  }
  // Claimed, with its baseline; each chunk is tried four times.
  void claim_drive(const std::string& more = "") {
    make_drive(more);
    auto claimed = Claim::create(options_, request_, &findings_, stop_, listener_);
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = std::make_unique<Drive>(options_, *std::move(claimed), clock_, listener_);
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
  }
  void break_for(int tries) {
    set("write_error_at", "1:" + std::to_string(kBroken) + ":4096");
    set("write_error_times", std::to_string(tries));
  }
  Result<EraseEvidence> zero() {
    EraseRequest request;
    request.method = GetParam();
    return erase(*drive_, request);
  }
  void expect_erased(const Result<EraseEvidence>& evidence) {
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(evidence->bytes_zeroed, kAll);
    EXPECT_EQ(progress_.back().percent, 100);
    EXPECT_EQ(media().nonzero_bytes, 0U);
    const auto report = verify(*drive_, *evidence);
    EXPECT_TRUE(report.ok()) << report.error().what;
  }

  Listener listener_;
};

INSTANTIATE_TEST_SUITE_P(Both, ZeroAgainTest,
                         ::testing::Values(EraseMethod::write_zeroes, EraseMethod::overwrite),
                         [](const auto& method) { return std::string(to_string(method.param)); });

TEST_P(ZeroAgainTest, ItGoesOnFromWhatReadsBackAsZeroes) {
  claim_drive();
  break_for(4);
  expect_erased(zero());
  EXPECT_EQ(listener_.positions, std::vector{kBroken});
}

TEST_P(ZeroAgainTest, ItIsInterruptedAgainAndAgainAndNeverGoesBackBehindWhatWasVerified) {
  claim_drive();
  break_for(12);
  std::size_t before = 0;
  listener_.on_going_on = [&] { before = progress_.size(); };
  const auto evidence = zero();
  const std::vector<EraseProgress> of_erase = progress_;
  expect_erased(evidence);
  EXPECT_EQ(listener_.positions, (std::vector{kBroken, kBroken, kBroken}));
  for (std::size_t i = before; i < of_erase.size(); ++i) EXPECT_GE(of_erase[i].percent, 62.5);
}

TEST_P(ZeroAgainTest, ZeroesThatTheDriveDidNotKeepAreWrittenAgain) {
  const char* const fault =
      GetParam() == EraseMethod::overwrite ? "drops_zero_writes" : "zeroes_nothing";
  claim_drive();
  set(fault, "1");
  break_for(4);
  listener_.on_going_on = [&] { set(fault, "0"); };  // as after a reset
  expect_erased(zero());
  EXPECT_EQ(listener_.positions, std::vector{std::uint64_t{0}});
}

TEST_P(ZeroAgainTest, WhatCannotBeReadBackIsWrittenAgain) {
  claim_drive();
  set("io_error_at", "1:3145728:4096");
  break_for(4);
  listener_.on_going_on = [&] { set("io_error_at", "off"); };
  expect_erased(zero());
  EXPECT_EQ(listener_.positions, std::vector{std::uint64_t{3U << 20U}});
}

TEST_P(ZeroAgainTest, WhatIsWrittenMeanwhileIsFoundByTheVerification) {
  claim_drive();
  break_for(4);
  listener_.on_going_on = [&] { put_media(1'000'000, "old"); };  // past every counter
  const auto evidence = zero();
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  expect_error(verify(*drive_, *evidence), Errc::failed, "do not read as zeroes");
}

TEST_P(ZeroAgainTest, AWriteByAnotherEndsIt) {
  claim_drive();
  set("written_while_read", "1");
  break_for(4);
  expect_error(zero(), Errc::failed, "it does not go on: the drive was written to while");
  EXPECT_TRUE(listener_.positions.empty());
}

TEST_P(ZeroAgainTest, AGuardThatRefusesMeanwhileEndsIt) {
  claim_drive();
  break_for(8);
  listener_.on_going_on = [&] { ASSERT_TRUE(host_->mount(kAddress, "/srv").ok()); };
  expect_error(zero(), Errc::failed, "it does not go on: guard mounted");
  EXPECT_EQ(listener_.positions.size(), 1U);
  EXPECT_GT(media().tenant_blocks_kept, 0U);
}

TEST_P(ZeroAgainTest, AnotherSerialEndsIt) {
  claim_drive();
  break_for(8);
  listener_.on_going_on = [&] { set("serial_changes", "1"); };
  expect_error(zero(), Errc::failed, "it does not go on: guard serial");
}

TEST_P(ZeroAgainTest, AControllerThatIsBeingResetIsWaitedForSoOften) {
  options_.zero_continuations_max = 3;
  claim_drive();
  break_for(8);
  listener_.on_going_on = [&] { set("state", "resetting"); };
  expect_error(zero(), Errc::failed, "10485760 of 16777216 bytes are zeroed");
  EXPECT_EQ(listener_.positions, std::vector{kBroken});
}

TEST_P(ZeroAgainTest, ItGivesUpAfterSoManyTimes) {
  options_.zero_continuations_max = 2;
  claim_drive();
  break_for(12);
  expect_error(zero(), Errc::failed, "10485760 of 16777216 bytes are zeroed");
  EXPECT_EQ(listener_.positions, (std::vector{kBroken, kBroken}));
}

TEST_P(ZeroAgainTest, AStopIsHeardInThePause) {
  options_.zero_continue_pause_ms = 3'600'000;
  claim_drive();
  break_for(1'000'000);
  std::thread operator_of_it([this] { stop_.request(); });
  EXPECT_FALSE(zero().ok());
  operator_of_it.join();
  EXPECT_TRUE(listener_.positions.empty());
}

TEST_P(ZeroAgainTest, TheNextClaimBeginsWithTheFirstByte) {
  claim_drive();
  break_for(8);
  listener_.on_going_on = [&] { stop_.request(); };
  expect_error(zero(), Errc::unknown, "stopped while zeroing");
  drive_.reset();
  put_media(1'000'000, "old");
  StopFlag fresh;
  auto claimed = Claim::create(options_, request_, &findings_, fresh, listener_);
  ASSERT_TRUE(claimed.ok()) << claimed.error().what;
  Drive again(options_, *std::move(claimed), clock_, listener_);
  EraseRequest request;
  request.method = GetParam();
  ASSERT_TRUE(again
                  .erase(
                      request, [](EraseProgress) {}, fresh)
                  .ok());
  EXPECT_EQ(media().nonzero_bytes, 0U);
}

}  // namespace
}  // namespace reclaim::nvme
