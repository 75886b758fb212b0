#include "nvme/erase/sanitize_erase.h"

#include <fmt/core.h>

#include <cerrno>

#include "nvme/controller/admin.h"
#include "nvme/controller/status.h"
#include "nvme/erase/sanitize_pace.h"
#include "nvme/erase/sanitized_media.h"

namespace reclaim::nvme {
namespace {

Error never_sent(const Error& error) {
  return Error{error.code == Errc::unknown ? Errc::failed : error.code,
               error.what + "; nothing was sent to the drive", error.raw};
}

// One sanitize under way.
struct Run {
  EraseRequest request;
  std::uint32_t cdw10 = 0;
  MonoMs begun;
  bool sent = false;     // from here on, what goes wrong is unknown
  bool adopted = false;  // not sent by us now, but found
  bool seen_running = false;
  std::int64_t unsettled_since_ms = -1;  // the log contradicts the accepted command since then
  SanitizeLog before;                    // right before our command
  bool looked = false;                   // at the media
  bool left = false;                     // the state in which it can be read
  SanitizedMedia media;
};

bool told_apart(const Run& run, const SanitizeLog& log) {
  return run.seen_running || !could_be_older(run.before, log);
}

// True if verification reads every canary of this cleaning, and fails where it cannot. Then it
// finds out an erase that the log alone does not show to be ours, if it was not.
bool canaries_decide(const DriveContext& drive) {
  const Rules& rules = drive.claim.rules();
  return rules.verify != VerifyLevel::log && !rules.relaxed.unreadable_blocks;
}

EraseEvidence evidence_of(const DriveContext& drive, const Run& run, const SanitizeLog& log) {
  EraseEvidence evidence;
  evidence.method = run.request.method;
  evidence.cdw10 = run.cdw10;
  evidence.scdw10 = log.scdw10;
  evidence.sstat = log.sstat;
  evidence.global_data_erased = log.global_data_erased();
  evidence.adopted = run.adopted;
  evidence.duration_ms = drive.clock.now().mono.ms - run.begun.ms;
  evidence.media = run.media;
  if (asks_for_media(run.cdw10) && !run.looked) {
    evidence.media.not_read =
        "the drive was not seen in its media verification: a reset leads out of it, and so does a "
        "worker that ended";
  }
  return evidence;
}

// Once: what the log says after that lags behind. A drive whose media still holds what was there is
// left in that state: a worker that dies before it has noted this finds it again.
Status use_media_verification(const DriveContext& drive, Run& run, MonoMs deadline,
                              StopFlag& stop) {
  if (run.left) return Ok{};
  if (!run.looked) {
    auto look = read_sanitized_media(drive, run.request.baseline, deadline, stop);
    if (!look && look.error().code == Errc::cancelled) {
      return Error{Errc::unknown, look.error().what + "; the sanitize goes on in the drive"};
    }
    if (!look) return std::move(look).error();
    run.looked = true;
    run.media = *std::move(look);
  }
  auto left = leave_media_verification(drive);
  if (!left && left.error().code == Errc::failed) return left;
  run.left = left.ok();
  return Ok{};
}

Status adopt(const DriveContext& drive, Run& run) {
  // A command of ours may have been sent: until the log is read, nothing is known.
  const auto log = sanitize_log(drive);
  if (!log) return Error{Errc::unknown, log.error().what, log.error().raw};
  if (auto same = drive.claim.still_same_drive(); !same) return same;
  run.sent = true;
  const std::uint32_t with_media = sanitize_cdw10(run.request.method, true);
  if (log->scdw10 == with_media) run.cdw10 = with_media;
  const SanitizeJudgement judgement = judge_sanitize(*log, run.cdw10);
  if (judgement.outcome != SanitizeOutcome::in_progress) {
    // One that has ended may be the last cleaning's, or an unseen tenant may have come after it,
    // and Global Data Erased does not tell on every drive. What runs ends after all that
    // was written.
    return Error{Errc::not_found, "no sanitize of ours to adopt: " + judgement.text};
  }
  run.adopted = run.seen_running = true;
  drive.log.info(log_name::kNvme,
                 fmt::format("{}: adopting our sanitize: {}", to_string(drive.claim.sys().address),
                             judgement.text));
  return Ok{};
}

// The answer to our command got lost: only the drive's log can tell whether it was carried out.
Status read_back_lost_command(const DriveContext& drive, Run& run, const Error& lost) {
  const auto log = sanitize_log(drive);
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

Status send(DriveContext& drive, Run& run, StopFlag& stop) {
  const MonoMs deadline{run.begun.ms + run.request.timeout_ms};
  while (true) {
    const auto idle = wait_while_sanitizing(drive, deadline, run.request.stall_timeout_ms, stop);
    if (!idle) return idle.error();
    // The last look: whatever appeared since the claim stops us here.
    if (auto unchanged = drive.claim.recheck(); !unchanged) return never_sent(unchanged.error());
    if (stop.requested()) {
      return Error{Errc::cancelled, "stopped before the sanitize was sent"};
    }
    run.before = *idle;
    auto sent =
        start_sanitize(drive.claim.controller_fd(), run.cdw10, drive.options.admin_timeout_ms);
    if (sent) {
      run.sent = true;
      drive.log.debug(log_name::kNvme, fmt::format("{}: {} accepted by the drive",
                                                   to_string(drive.claim.sys().address),
                                                   to_string(run.request.method)));
      return Ok{};
    }
    const Error& error = sent.error();
    if (error.code == Errc::unknown) return read_back_lost_command(drive, run, error);
    if (error.code == Errc::failed && asks_for_media(run.cdw10)) {
      run.cdw10 = sanitize_cdw10(run.request.method);
      run.media.not_read = "the drive refuses to show it: " + error.what;
      continue;  // what is refused for another reason is so again
    }
    // Somebody was faster by a moment; ours still has to run.
    const bool overtaken = error.code == Errc::busy && drive.clock.now().mono.ms < deadline.ms;
    if (!overtaken) return Error{Errc::failed, error.what, error.raw};
    if (stop.wait(drive.options.poll_interval_ms)) {
      return Error{Errc::cancelled, "stopped before the sanitize was sent"};
    }
  }
}

// Decides by one reading of the log; nothing while it is to be read again.
std::optional<Result<EraseEvidence>> judge_reading(const DriveContext& drive, Run& run,
                                                   const SanitizeLog& log, StallWatch& watch,
                                                   const ReportProgress& on_progress) {
  const MonoMs now = drive.clock.now().mono;
  const SanitizeJudgement judgement = judge_sanitize(log, run.cdw10);
  if (judgement.outcome == SanitizeOutcome::in_progress) {
    run.seen_running = true;
    run.unsettled_since_ms = -1;
    on_progress(EraseProgress{progress_percent(log), eta_s(log, run.request.method)});
    if (!watch.stalled(log.sprog, now)) return std::nullopt;
    return Error{Errc::unknown,
                 fmt::format("the sanitize is stalled at {:.1f} % since {} s; it cannot be "
                             "aborted: power-cycle the drive, and replace it if it stays so",
                             progress_percent(log), run.request.stall_timeout_ms / 1000)};
  }
  if (judgement.outcome == SanitizeOutcome::failed) return Error{Errc::failed, judgement.text};
  const bool vouched_for = judgement.outcome == SanitizeOutcome::erased ||
                           (judgement.outcome == SanitizeOutcome::unproven &&
                            drive.claim.rules().relaxed.global_data_erased);
  if (vouched_for && told_apart(run, log)) {
    on_progress(EraseProgress{100, 0});
    return evidence_of(drive, run, log);
  }
  // The log may lag behind the drive; but not for long.
  if (run.unsettled_since_ms < 0) run.unsettled_since_ms = now.ms;
  if (now.ms - run.unsettled_since_ms < drive.options.settle_ms) return std::nullopt;
  // The log cannot move where it never has Global Data Erased and the sanitize ended before a look.
  if (vouched_for && drive.claim.rules().relaxed.global_data_erased && canaries_decide(drive)) {
    on_progress(EraseProgress{100, 0});
    return evidence_of(drive, run, log);
  }
  return Error{Errc::failed,
               vouched_for
                   ? "the drive's log cannot be told from that of an older sanitize, so nothing "
                     "shows that ours was carried out; clean the device again"
                   : "the drive accepted the sanitize, but " + judgement.text};
}

Result<EraseEvidence> poll(const DriveContext& drive, Run& run, const ReportProgress& on_progress,
                           StopFlag& stop) {
  CHECK(run.sent);
  StallWatch watch(run.request.stall_timeout_ms);
  SanitizePace pace(drive.options.poll_interval_ms);
  std::uint32_t failures = 0;
  std::int64_t limit_ms = time_limit_ms(run.before, run.cdw10, run.request.timeout_ms);
  while (true) {
    const auto log = sanitize_log(drive);
    if (log) {
      failures = 0;
      limit_ms = time_limit_ms(*log, run.cdw10, run.request.timeout_ms);
      if (log->in_progress()) pace.saw(log->sprog, drive.clock.now().mono);
      if (asks_for_media(run.cdw10) && shows_media(drive, *log)) {
        const MonoMs deadline{run.begun.ms + limit_ms};
        auto used = use_media_verification(drive, run, deadline, stop);
        if (!used) return std::move(used).error();
      }
      auto decided = judge_reading(drive, run, *log, watch, on_progress);
      if (decided) return *std::move(decided);
    } else if (++failures >= drive.options.log_failures_max || log.error().raw == ENODEV) {
      return Error{Errc::unknown,
                   fmt::format("{}; how the sanitize ended is not known", log.error().what),
                   log.error().raw};
    }
    if (drive.clock.now().mono.ms - run.begun.ms >= limit_ms) {
      return Error{Errc::unknown,
                   fmt::format("the sanitize did not end within {} s and goes on in the drive; see "
                               "`nvme sanitize-log /dev/{}`, raise cleanup_timeout if the drive is "
                               "only slow",
                               limit_ms / 1000, drive.claim.sys().controller)};
    }
    // A controller that does not answer, as in a reset, is given the whole interval each time.
    if (stop.wait(log ? pace.next_ms(drive.clock.now().mono) : drive.options.poll_interval_ms)) {
      return Error{Errc::unknown, "stopped while the sanitize goes on in the drive"};
    }
  }
}

}  // namespace

Result<SanitizeLog> sanitize_log(const DriveContext& drive) {
  return read_sanitize_log(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
}

Result<SanitizeLog> wait_while_sanitizing(const DriveContext& drive, MonoMs deadline,
                                          std::int64_t stall_timeout_ms, StopFlag& stop) {
  StallWatch watch(stall_timeout_ms);
  SanitizePace pace(drive.options.poll_interval_ms);
  const std::int64_t begun_ms = drive.clock.now().mono.ms;
  bool told = false;
  bool led_out = false;
  while (true) {
    const auto log = sanitize_log(drive);
    if (!log) return never_sent(log.error());
    if (!log->in_progress()) return log;
    if (shows_media(drive, *log) && !led_out) {
      // The media verification ends by no time. Nothing but the exit is accepted, and what is left
      // is erased already.
      if (auto unchanged = drive.claim.recheck(); !unchanged) return never_sent(unchanged.error());
      auto left = leave_media_verification(drive);
      if (!left && left.error().code == Errc::failed) return std::move(left).error();
      led_out = left.ok();
    }
    if (!told) {
      drive.log.info(log_name::kNvme,
                     fmt::format("{}: a sanitize is running already ({:.0f} %); waiting",
                                 to_string(drive.claim.sys().address), progress_percent(*log)));
      told = true;
    }
    const MonoMs now = drive.clock.now().mono;
    pace.saw(log->sprog, now);
    const std::int64_t limit_ms = time_limit_ms(*log, log->scdw10, deadline.ms - begun_ms);
    if (watch.stalled(log->sprog, now) || now.ms - begun_ms >= limit_ms) {
      return Error{Errc::failed,
                   fmt::format("a sanitize that was running already does not end ({:.1f} %, SCDW10 "
                               "{:#010x}); nothing was sent to the drive; if its progress does not "
                               "move for hours, replace the drive",
                               progress_percent(*log), log->scdw10)};
    }
    if (stop.wait(pace.next_ms(now))) {
      return Error{Errc::cancelled, "stopped while waiting for a sanitize that runs already"};
    }
  }
}

Result<EraseEvidence> erase_by_sanitize(DriveContext& drive, const EraseRequest& request,
                                        const ReportProgress& on_progress, StopFlag& stop) {
  Run run;
  run.request = request;
  run.cdw10 = sanitize_cdw10(request.method, can_show_media(drive, request.baseline));
  run.begun = drive.clock.now().mono;
  auto ready = request.adopt_ours ? adopt(drive, run) : send(drive, run, stop);
  if (!ready) return std::move(ready).error();
  return poll(drive, run, on_progress, stop);
}

}  // namespace reclaim::nvme
