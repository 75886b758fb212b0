// Sanitize of a claimed drive: sent, or adopted where it runs, and watched until the drive has said
// how it ended.
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "nvme/controller/admin.h"
#include "nvme/controller/status.h"
#include "nvme/drive.h"

namespace reclaim::nvme {
namespace {

constexpr unsigned kRunning = 2;            // SSTAT bits 2:0
constexpr std::int64_t kFirstPauseMs = 20;  // crypto erases end within moments
constexpr std::string_view kLogger = "reclaim.nvme";

Error never_sent(const Error& error) {
  return Error{error.code == Errc::unknown ? Errc::failed : error.code,
               error.what + "; nothing was sent to the drive", error.raw};
}

// Doubles up to the configured interval.
class Pause final {
 public:
  explicit Pause(std::int64_t most_ms) : most_ms_(most_ms) {}
  std::int64_t next() {
    const std::int64_t now = std::min(next_ms_, most_ms_);
    next_ms_ = now * 2;
    return now;
  }

 private:
  std::int64_t most_ms_;
  std::int64_t next_ms_ = kFirstPauseMs;
};

}  // namespace

Result<SanitizeLog> Drive::wait_while_sanitizing(MonoMs deadline, std::int64_t stall_timeout_ms,
                                                 StopFlag& stop) {
  StallWatch watch(stall_timeout_ms);
  Pause pause(options_.poll_interval_ms);
  bool told = false;
  while (true) {
    const auto log = sanitize_log();
    if (!log) return never_sent(log.error());
    if (log->status() != kRunning) return log;
    if (!told) {
      log_.info(kLogger, fmt::format("{}: a sanitize is running already ({:.0f} %); waiting",
                                     to_string(claim_.sys().address), progress_percent(*log)));
      told = true;
    }
    const MonoMs now = clock_.now().mono;
    if (watch.stalled(log->sprog, now) || now.ms >= deadline.ms) {
      return Error{Errc::failed,
                   fmt::format("a sanitize that was running already does not end ({:.1f} %, SCDW10 "
                               "{:#010x}); nothing was sent to the drive; if its progress does not "
                               "move for hours, replace the drive",
                               progress_percent(*log), log->scdw10)};
    }
    if (stop.wait(pause.next())) {
      return Error{Errc::cancelled, "stopped while waiting for a sanitize that runs already"};
    }
  }
}

bool Drive::can_sanitize() const {
  return claim_.identity().capabilities.sanitize();
}

Result<SanitizeLog> Drive::sanitize_log() const {
  return read_sanitize_log(claim_.controller_fd(), options_.admin_timeout_ms);
}

Result<EraseEvidence> Drive::sanitize(const EraseRequest& request, const Report& on_progress,
                                      StopFlag& stop) {
  Run run;
  run.request = request;
  run.cdw10 = sanitize_cdw10(request.method);
  run.begun = clock_.now().mono;
  auto ready = request.adopt_ours ? adopt(run) : send(run, stop);
  if (!ready) return std::move(ready).error();
  return poll(run, on_progress, stop);
}

Status Drive::adopt(Run& run) {
  // A command of ours may have been sent: until the log is read, nothing is known.
  const auto log = sanitize_log();
  if (!log) return Error{Errc::unknown, log.error().what, log.error().raw};
  if (auto same = claim_.still_same_drive(); !same) return same;
  run.sent = true;
  const SanitizeJudgement judgement = judge_sanitize(*log, run.cdw10);
  if (judgement.outcome != SanitizeOutcome::in_progress) {
    // One that has ended may be the last cleaning's, or an unseen tenant may have come after it,
    // and Global Data Erased does not tell on every drive. What runs ends after all that
    // was written.
    return Error{Errc::not_found, "no sanitize of ours to adopt: " + judgement.text};
  }
  run.adopted = run.seen_running = true;
  log_.info(kLogger, fmt::format("{}: adopting our sanitize: {}", to_string(claim_.sys().address),
                                 judgement.text));
  return Ok{};
}

Status Drive::send(Run& run, StopFlag& stop) {
  const MonoMs deadline{run.begun.ms + run.request.timeout_ms};
  while (true) {
    const auto idle = wait_while_sanitizing(deadline, run.request.stall_timeout_ms, stop);
    if (!idle) return idle.error();
    // The last look: whatever appeared since the claim stops us here.
    if (auto unchanged = claim_.recheck(); !unchanged) return never_sent(unchanged.error());
    if (stop.requested()) {
      return Error{Errc::cancelled, "stopped before the sanitize was sent"};
    }
    run.before = *idle;
    auto sent =
        start_sanitize(claim_.controller_fd(), run.request.method, options_.admin_timeout_ms);
    if (sent) {
      run.sent = true;
      log_.info(kLogger,
                fmt::format("{}: {} accepted by the drive", to_string(claim_.sys().address),
                            to_string(run.request.method)));
      return Ok{};
    }
    const Error& error = sent.error();
    if (error.code == Errc::unknown) return read_back_lost_command(run, error);
    // Somebody was faster by a moment; ours still has to run.
    const bool overtaken = error.code == Errc::busy && clock_.now().mono.ms < deadline.ms;
    if (!overtaken) return Error{Errc::failed, error.what, error.raw};
    if (stop.wait(options_.poll_interval_ms)) {
      return Error{Errc::cancelled, "stopped before the sanitize was sent"};
    }
  }
}

// The answer to our command got lost: only the drive's log can tell whether it was carried out.
Status Drive::read_back_lost_command(Run& run, const Error& lost) {
  const auto log = sanitize_log();
  if (log) {
    const SanitizeOutcome outcome = judge_sanitize(*log, run.cdw10).outcome;
    if (outcome == SanitizeOutcome::in_progress ||
        (outcome == SanitizeOutcome::erased && told_apart(run, *log))) {
      run.sent = true;
      return Ok{};
    }
  }
  return Error{Errc::unknown,
               fmt::format("{}; whether the drive began the sanitize is not known", lost.what),
               lost.raw};
}

bool Drive::told_apart(const Run& run, const SanitizeLog& log) const {
  return run.seen_running || !could_be_older(run.before, log);
}

bool Drive::canaries_decide() const {
  const Rules& rules = claim_.rules();
  return rules.verify != VerifyLevel::log && !rules.relaxed.unreadable_blocks;
}

// What one reading of the log decides; nothing while it is to be read again.
std::optional<Result<EraseEvidence>> Drive::judge_reading(
    Run& run, const SanitizeLog& log, StallWatch& watch,
    const std::function<void(EraseProgress)>& on_progress) {
  const MonoMs now = clock_.now().mono;
  const SanitizeJudgement judgement = judge_sanitize(log, run.cdw10);
  if (judgement.outcome == SanitizeOutcome::in_progress) {
    run.seen_running = true;
    run.unsettled_since_ms = -1;
    on_progress(EraseProgress{progress_percent(log), eta_s(log, run.request.method)});
    if (!watch.stalled(log.sprog, now)) return std::nullopt;
    return Error{Errc::unknown,
                 fmt::format("the sanitize stands still at {:.1f} % since {} s; it cannot be "
                             "aborted: power-cycle the drive, and replace it if it stays so",
                             progress_percent(log), run.request.stall_timeout_ms / 1000)};
  }
  if (judgement.outcome == SanitizeOutcome::failed) return Error{Errc::failed, judgement.text};
  const bool vouched_for =
      judgement.outcome == SanitizeOutcome::erased ||
      (judgement.outcome == SanitizeOutcome::unproven && claim_.rules().relaxed.global_data_erased);
  if (vouched_for && told_apart(run, log)) {
    on_progress(EraseProgress{100, 0});
    return evidence_of(run, log);
  }
  // The log may lag behind the drive; but not for long.
  if (run.unsettled_since_ms < 0) run.unsettled_since_ms = now.ms;
  if (now.ms - run.unsettled_since_ms < options_.settle_ms) return std::nullopt;
  // It cannot move where it never had Global Data Erased and ended before it was looked at.
  if (vouched_for && claim_.rules().relaxed.global_data_erased && canaries_decide()) {
    on_progress(EraseProgress{100, 0});
    return evidence_of(run, log);
  }
  return Error{Errc::failed,
               vouched_for
                   ? "the drive's log cannot be told from that of an older sanitize, so nothing "
                     "shows that ours was carried out; clean the device again"
                   : "the drive accepted the sanitize, but " + judgement.text};
}

Result<EraseEvidence> Drive::poll(Run& run, const std::function<void(EraseProgress)>& on_progress,
                                  StopFlag& stop) {
  CHECK(run.sent);
  StallWatch watch(run.request.stall_timeout_ms);
  Pause pause(options_.poll_interval_ms);
  std::uint32_t failures = 0;
  while (true) {
    const auto log = sanitize_log();
    if (log) {
      failures = 0;
      auto decided = judge_reading(run, *log, watch, on_progress);
      if (decided) return *std::move(decided);
    } else if (++failures >= options_.log_failures_max || log.error().raw == ENODEV) {
      return Error{Errc::unknown,
                   fmt::format("{}; how the sanitize ended is not known", log.error().what),
                   log.error().raw};
    }
    if (clock_.now().mono.ms - run.begun.ms >= run.request.timeout_ms) {
      return Error{Errc::unknown,
                   fmt::format("the sanitize did not end within {} s and goes on in the drive; see "
                               "`nvme sanitize-log /dev/{}`, raise cleanup_timeout if the drive is "
                               "only slow",
                               run.request.timeout_ms / 1000, claim_.sys().controller)};
    }
    if (stop.wait(pause.next())) {
      return Error{Errc::unknown, "stopped while the sanitize goes on in the drive"};
    }
  }
}

EraseEvidence Drive::evidence_of(const Run& run, const SanitizeLog& log) const {
  EraseEvidence evidence;
  evidence.method = run.request.method;
  evidence.cdw10 = run.cdw10;
  evidence.scdw10 = log.scdw10;
  evidence.sstat = log.sstat;
  evidence.global_data_erased = log.global_data_erased();
  evidence.adopted = run.adopted;
  evidence.duration_ms = clock_.now().mono.ms - run.begun.ms;
  return evidence;
}

}  // namespace reclaim::nvme
