// What the sanitize log proves and what it does not.
#include "nvme/controller/sanitize.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kOurs = 4;
constexpr std::uint16_t kGde = 0x100;

SanitizeLog log_of(std::uint16_t sprog, std::uint16_t sstat, std::uint32_t scdw10) {
  SanitizeLog log;
  log.sprog = sprog;
  log.sstat = sstat;
  log.scdw10 = scdw10;
  return log;
}

SanitizeOutcome judge(std::uint16_t sprog, std::uint16_t sstat, std::uint32_t scdw10) {
  return judge_sanitize(log_of(sprog, sstat, scdw10), kOurs).outcome;
}

TEST(SanitizeTime, IsTheConfiguredOneOrTwiceTheDrivesEstimate) {
  constexpr std::int64_t kQuarter = 900'000;
  SanitizeLog log;
  const std::uint32_t block = sanitize_cdw10(EraseMethod::sanitize_block);
  const std::uint32_t crypto = sanitize_cdw10(EraseMethod::sanitize_crypto);
  EXPECT_EQ(time_limit_ms(log, block, kQuarter), kQuarter) << "it tells no estimate";
  log.block_s = 7'200;
  EXPECT_EQ(time_limit_ms(log, block, kQuarter), 14'400'000);
  EXPECT_EQ(time_limit_ms(log, crypto, kQuarter), kQuarter) << "that is of a block erase";
  EXPECT_EQ(time_limit_ms(log, block, 20'000'000), 20'000'000);
  log.block_s = 0;
  EXPECT_EQ(time_limit_ms(log, block, kQuarter), kQuarter);
  log.overwrite_s = 0xfffffffe;
  EXPECT_EQ(time_limit_ms(log, 3, kQuarter), 86'400'000) << "a drive may say anything";
  EXPECT_EQ(time_limit_ms(log, 3, 100'000'000), 100'000'000);
  EXPECT_EQ(time_limit_ms(log, 0, kQuarter), kQuarter);
}

TEST(SanitizeTime, HasTheDeallocationAfterItsMediaWasRead) {
  SanitizeLog log;
  const std::uint32_t media = sanitize_cdw10(EraseMethod::sanitize_crypto, true);
  log.crypto_s = 1'000;
  EXPECT_EQ(time_limit_ms(log, media, 0), 2'000'000) << "it does not tell how long that takes";
  log.deallocate_s = 500;
  EXPECT_EQ(time_limit_ms(log, media, 0), 3'000'000);
  EXPECT_EQ(time_limit_ms(log, sanitize_cdw10(EraseMethod::sanitize_crypto), 0), 2'000'000);
  log.crypto_s = log.deallocate_s = 0xfffffffe;
  EXPECT_EQ(time_limit_ms(log, media, 0), 86'400'000);
}

TEST(SanitizeCommand, NeitherUnrestrictedExitNorNoDeallocate) {
  // SANACT in bits 2:0; AUSE is bit 3, OWPASS 7:4, OIPBP 8, NDAS 9.
  EXPECT_EQ(sanitize_cdw10(EraseMethod::sanitize_crypto), 4U);
  EXPECT_EQ(sanitize_cdw10(EraseMethod::sanitize_block), 2U);
  EXPECT_EQ(sanitize_cdw10(EraseMethod::sanitize_crypto, true), 0x404U);  // EMVS is bit 10
  EXPECT_EQ(sanitize_cdw10(EraseMethod::sanitize_block, true), 0x402U);
}

TEST(SanitizeJudgement, OnlyOurCommandWithGlobalDataErasedIsAnErasure) {
  EXPECT_EQ(judge(0xffff, 1 | kGde, kOurs), SanitizeOutcome::erased);
  EXPECT_EQ(judge(0xffff, 4 | kGde, kOurs), SanitizeOutcome::erased);
  EXPECT_EQ(judge(0xffff, 1, kOurs), SanitizeOutcome::unproven);
  EXPECT_EQ(judge(0xffff, 4, kOurs), SanitizeOutcome::unproven);
  EXPECT_EQ(judge(0xffff, 1 | kGde, 2), SanitizeOutcome::no_trace);
  EXPECT_EQ(judge(0xffff, 1 | kGde, kOurs | 8U), SanitizeOutcome::no_trace);
}

TEST(SanitizeJudgement, FullProgressAloneProvesNothing) {
  EXPECT_EQ(judge(0xffff, kGde, kOurs), SanitizeOutcome::no_trace);  // never sanitized
  EXPECT_EQ(judge(0xffff, 3, kOurs), SanitizeOutcome::failed);
  EXPECT_EQ(judge(0xffff, 3 | kGde, kOurs), SanitizeOutcome::failed);
  EXPECT_EQ(judge(0xffff, 2, kOurs), SanitizeOutcome::in_progress);
  for (std::uint16_t unknown = 5; unknown < 8; ++unknown) {
    EXPECT_EQ(judge(0xffff, unknown | kGde, kOurs), SanitizeOutcome::failed);
  }
}

TEST(SanitizeJudgement, AnotherSanitizeIsToldApart) {
  EXPECT_EQ(judge(100, 2, 2), SanitizeOutcome::foreign);
  EXPECT_EQ(judge(100, 2, kOurs), SanitizeOutcome::in_progress);
  EXPECT_EQ(judge(100, 3, 2), SanitizeOutcome::no_trace);
}

TEST(SanitizeJudgement, AnUnmovedLogMayBeAnOlderSuccess) {
  const SanitizeLog old = log_of(0xffff, 1 | kGde, kOurs);
  EXPECT_TRUE(could_be_older(old, old));
  EXPECT_FALSE(could_be_older(log_of(0xffff, 1, kOurs), old));         // our canary cleared the bit
  EXPECT_FALSE(could_be_older(log_of(0xffff, 1 | kGde, 2), old));      // another command
  EXPECT_FALSE(could_be_older(log_of(0xffff, 4 | kGde, kOurs), old));  // another ending
}

TEST(SanitizeProgress, PercentAndEstimate) {
  SanitizeLog log = log_of(0x8000, 2, kOurs);
  log.crypto_s = 10;
  log.block_s = 600;
  EXPECT_DOUBLE_EQ(progress_percent(log), 50.0);
  EXPECT_EQ(eta_s(log, EraseMethod::sanitize_crypto), 5);
  EXPECT_EQ(eta_s(log, EraseMethod::sanitize_block), 300);
  log.block_s = 0xffffffff;
  EXPECT_EQ(eta_s(log, EraseMethod::sanitize_block), -1);
  EXPECT_DOUBLE_EQ(progress_percent(log_of(0xffff, 1, kOurs)), 0.0);
}

TEST(StallWatchdog, ProgressMustMoveWithinTheTimeout) {
  StallWatch watch(1000);
  EXPECT_FALSE(watch.stalled(655, MonoMs{0}));
  EXPECT_FALSE(watch.stalled(655, MonoMs{999}));
  EXPECT_FALSE(watch.stalled(656, MonoMs{1000}));  // it moved: the clock starts again
  EXPECT_FALSE(watch.stalled(656, MonoMs{1999}));
  EXPECT_TRUE(watch.stalled(656, MonoMs{2000}));
}

TEST(StallWatchdog, TheFirstReadingStartsTheClock) {
  StallWatch watch(1000);
  EXPECT_FALSE(watch.stalled(0, MonoMs{1'000'000}));
  EXPECT_TRUE(watch.stalled(0, MonoMs{1'001'000}));
}

}  // namespace
}  // namespace reclaim::nvme
