#include "nvme/controller/sanitize.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kSanactMask = 7;
constexpr std::uint32_t kSanactBlockErase = 2;
constexpr std::uint32_t kSanactOverwrite = 3;
constexpr std::uint32_t kSanactCryptoErase = 4;
constexpr std::uint32_t kEnterMediaVerification = 1U << 10U;  // EMVS

constexpr unsigned kNever = 0;
constexpr unsigned kSuccess = 1;
constexpr unsigned kInProgress = 2;
constexpr unsigned kFailed = 3;
constexpr unsigned kSuccessDeallocated = 4;

constexpr std::uint32_t kNotReported = 0xffffffff;

SanitizeJudgement judge_ended_well(const SanitizeLog& log) {
  if (!log.global_data_erased()) {
    return {SanitizeOutcome::unproven,
            fmt::format("the drive reports success (SSTAT {:#06x}) but not Global Data Erased: "
                        "something was written since, or the drive does not confirm the erasure",
                        log.sstat)};
  }
  return {SanitizeOutcome::erased, fmt::format("erased (SSTAT {:#06x})", log.sstat)};
}

}  // namespace

std::uint32_t sanitize_cdw10(EraseMethod method, bool shows_media) {
  const std::uint32_t action =
      method == EraseMethod::sanitize_crypto ? kSanactCryptoErase : kSanactBlockErase;
  return action | (shows_media ? kEnterMediaVerification : 0);
}

bool asks_for_media(std::uint32_t cdw10) {
  return (cdw10 & kEnterMediaVerification) != 0;
}

SanitizeJudgement judge_sanitize(const SanitizeLog& log, std::uint32_t our_cdw10) {
  const bool ours = log.scdw10 == our_cdw10;
  switch (log.status()) {
    case kNever:
      return {SanitizeOutcome::no_trace, "the drive's log says that it was never sanitized"};
    case kInProgress:
      if (ours) return {SanitizeOutcome::in_progress, "sanitize in progress"};
      return {SanitizeOutcome::foreign,
              fmt::format("another sanitize is running (SCDW10 {:#010x}, ours is {:#010x})",
                          log.scdw10, our_cdw10)};
    case kSuccess:
    case kSuccessDeallocated:
      if (ours) return judge_ended_well(log);
      return {SanitizeOutcome::no_trace,
              fmt::format("the log shows another command than ours (SCDW10 {:#010x}, ours is "
                          "{:#010x})",
                          log.scdw10, our_cdw10)};
    case kFailed:
      if (ours) {
        return {SanitizeOutcome::failed,
                fmt::format("the drive reports that the sanitize failed (SSTAT {:#06x}, SPROG "
                            "{:#06x}); clean the device again, and replace it if that fails too",
                            log.sstat, log.sprog)};
      }
      return {
          SanitizeOutcome::no_trace,
          fmt::format("the log shows another sanitize than ours, which failed (SCDW10 {:#010x}, "
                      "ours is {:#010x})",
                      log.scdw10, our_cdw10)};
    default:
      return {SanitizeOutcome::failed,
              fmt::format("the sanitize log's status {} is not one we know (SSTAT {:#06x})",
                          log.status(), log.sstat)};
  }
}

bool could_be_older(const SanitizeLog& before, const SanitizeLog& after) {
  return before.sstat == after.sstat && before.scdw10 == after.scdw10;
}

double progress_percent(const SanitizeLog& log) {
  return log.in_progress() ? static_cast<double>(log.sprog) * 100.0 / 65536.0 : 0.0;
}

std::int64_t eta_s(const SanitizeLog& log, EraseMethod method) {
  const std::uint32_t whole = method == EraseMethod::sanitize_crypto ? log.crypto_s : log.block_s;
  if (whole == kNotReported || !log.in_progress()) return -1;
  return static_cast<std::int64_t>(whole) * (65536 - log.sprog) / 65536;
}

std::int64_t time_limit_ms(const SanitizeLog& log, std::uint32_t cdw10,
                           std::int64_t configured_ms) {
  constexpr std::int64_t kMsPerS = 1000;
  const std::uint32_t action = cdw10 & kSanactMask;
  const std::uint32_t estimate_s = action == kSanactCryptoErase  ? log.crypto_s
                                   : action == kSanactBlockErase ? log.block_s
                                   : action == kSanactOverwrite  ? log.overwrite_s
                                                                 : kNotReported;
  if (estimate_s == kNotReported) return configured_ms;
  const bool deallocates_later = asks_for_media(cdw10) && log.deallocate_s != kNotReported;
  const std::int64_t whole_s =
      std::int64_t{estimate_s} + (deallocates_later ? std::int64_t{log.deallocate_s} : 0);
  const std::int64_t by_estimate_ms = whole_s * kEstimateTimes * kMsPerS;
  return std::max(configured_ms, std::min(by_estimate_ms, kByEstimateMaxMs));
}

bool StallWatch::stalled(std::uint16_t sprog, MonoMs now) {
  if (last_ != sprog) {
    last_ = sprog;
    since_ = now;
    return false;
  }
  return now.ms - since_.ms >= stall_timeout_ms_;
}

}  // namespace reclaim::nvme
