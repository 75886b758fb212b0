// Makes the Sanitize command and judges its log, by NVM Express Base 2.0, Sanitize command and
// Sanitize Status log page. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nvme/controller/facts.h"
#include "nvme/controller/log_pages.h"
#include "state/base/clock.h"

namespace reclaim::nvme {

// Dword 10 of the Sanitize command. AUSE=0: after a failure only a successful sanitize brings the
// drive back, never Exit Failure Mode with the data intact. NDAS=0: blocks are deallocated and read
// as DLFEAT says. OWPASS and OIPBP are of overwrite alone and stay 0. `shows_media` is EMVS (Base
// 2.1, Figure 372): before it deallocates, the drive lets its media be read, until it is sent
// kExitMediaVerification.
[[nodiscard]] std::uint32_t sanitize_cdw10(EraseMethod method, bool shows_media = false);
[[nodiscard]] bool asks_for_media(std::uint32_t cdw10);
inline constexpr std::uint32_t kExitMediaVerification = 5;  // SANACT, all else 0

enum class SanitizeOutcome : std::uint8_t {
  in_progress,  // ours is running
  erased,       // ours ended well, and the drive says that nothing was written since
  failed,       // ours ended badly, or the log contradicts what we asked for
  foreign,      // another sanitize than ours is running
  no_trace,     // the log shows no sanitize of ours: none at all, or another that has ended
  unproven,     // ended well by status, but Global Data Erased is clear
};

struct SanitizeJudgement {
  SanitizeOutcome outcome = SanitizeOutcome::no_trace;
  std::string text;  // a sentence for the operator
};

// Judges one reading of the log against the command we sent. Only SSTAT 1 or 4 with our own dword
// 10 and Global Data Erased is an erasure; SPROG FFFFh alone never is.
[[nodiscard]] SanitizeJudgement judge_sanitize(const SanitizeLog& log, std::uint32_t our_cdw10);

// True if `after`, an ended sanitize, could be the very one that `before` showed already, read
// right before our command was sent: then nothing proves that ours was carried out. False where the
// log moved: another status or command, or Global Data Erased set by it (our canary had cleared
// it).
[[nodiscard]] bool could_be_older(const SanitizeLog& before, const SanitizeLog& after);

// 0..100; 0 unless in progress.
[[nodiscard]] double progress_percent(const SanitizeLog& log);
// The rest of the drive's own estimate for `method` at this progress; -1: it gives none, or no
// sanitize runs.
[[nodiscard]] std::int64_t eta_s(const SanitizeLog& log, EraseMethod method);

// The time that a sanitize of that dword 10 may take: `configured_ms`, or twice what the drive
// estimates for it (ETO, ETBE, ETCE; with EMVS ETPVDS on top) where that is longer, but for that no
// longer than a day: an estimate is the drive's word, and a drive may say anything.
inline constexpr std::int64_t kEstimateTimes = 2;
inline constexpr std::int64_t kByEstimateMaxMs = 86'400'000;
[[nodiscard]] std::int64_t time_limit_ms(const SanitizeLog& log, std::uint32_t cdw10,
                                         std::int64_t configured_ms);

// Drives are known to stand at one percentage for days. The watchdog looks at movement, so that a
// slow drive is left in peace and a stuck one is not.
class StallWatch final {
 public:
  explicit StallWatch(std::int64_t stall_timeout_ms) : stall_timeout_ms_(stall_timeout_ms) {}

  // Tells it a reading; true once SPROG has not moved for the whole timeout. The first reading
  // starts the clock.
  [[nodiscard]] bool stalled(std::uint16_t sprog, MonoMs now);

 private:
  std::int64_t stall_timeout_ms_;
  std::optional<std::uint16_t> last_;
  MonoMs since_;
};

}  // namespace reclaim::nvme
