#include "nvme/clean_steps.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "nvme/controller/health.h"
#include "nvme/erase/erase.h"
#include "nvme/erase/sanitize_erase.h"
#include "nvme/erase/sanitized_media.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kSanitizeActions = 7;  // SANICAP bits 2:0
constexpr unsigned kHasFailed = 3;
constexpr std::string_view kSurface = "sanitize";

StepReport one_finding(std::string found, bool reset = false) {
  StepReport report;
  report.findings.push_back(StepFinding{std::string(kSurface), std::move(found), reset});
  return report;
}

}  // namespace

Result<std::optional<ControllerState>> enrolled(const DriveContext& drive,
                                                const std::string& enrolment) {
  if (enrolment.empty()) return std::optional<ControllerState>();
  auto state = decode_controller_state(enrolment);
  if (!state) {
    return Error{Errc::failed, state.error().what + "; enrol the drive again"};
  }
  if (state->serial != drive.claim.identity().serial) {
    return Error{Errc::failed,
                 fmt::format("the enrolment baseline is of serial {}, this drive is {}; enrol the "
                             "drive that is there now",
                             state->serial, drive.claim.identity().serial)};
  }
  return std::optional<ControllerState>(*std::move(state));
}

Patience patience_of(const DriveContext& drive, const StepRequest& request, const StopFlag& stop) {
  return Patience{&drive.clock, MonoMs{drive.clock.now().mono.ms + request.timeout_ms}, &stop};
}

Result<HealthJudgement> health_of(const DriveContext& drive, const std::string& enrolment) {
  const auto baseline = enrolled(drive, enrolment);
  if (!baseline) return baseline.error();
  const auto health = read_health(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!health) return Error{Errc::failed, "health: " + health.error().what, health.error().raw};
  const Rules& rules = drive.claim.rules();
  if (!*baseline) return judge_health(*health, nullptr, rules);
  const Identity& identity = drive.claim.identity();
  const EnrolledHealth before{(*baseline)->health,
                              !identity.serial.empty() && (*baseline)->model == identity.model};
  return judge_health(*health, &before, rules);
}

Result<StepReport> check_health(const DriveContext& drive, const StepRequest& request) {
  auto judgement = health_of(drive, request.enrolment);
  if (!judgement) return std::move(judgement).error();
  StepReport report{std::move(judgement->findings)};
  if (!judgement->problems.empty()) {
    report.findings.push_back({"health",
                               fmt::format("it is going to be erased, and not returned: {}",
                                           fmt::join(judgement->problems, "; also ")),
                               false});
  }
  return report;
}

Result<StepReport> recover_sanitize(DriveContext& drive, const StepRequest& request,
                                    const ReportProgress& on_progress, StopFlag& stop) {
  if ((drive.claim.identity().capabilities.sanicap & kSanitizeActions) == 0) {
    return one_finding("the drive has no Sanitize");
  }
  EraseRequest erase_request;
  erase_request.method = request.method;
  erase_request.timeout_ms = request.timeout_ms;
  const auto found = sanitize_log(drive);
  if (!found) return Error{Errc::failed, "sanitize: " + found.error().what, found.error().raw};
  const bool was_running = found->in_progress();
  const bool showed_media = shows_media(drive, *found);
  const MonoMs deadline{drive.clock.now().mono.ms + request.timeout_ms};
  const auto idle = wait_while_sanitizing(drive, deadline, erase_request.stall_timeout_ms, stop);
  if (!idle) return idle.error();
  if (idle->status() != kHasFailed) {
    return one_finding(showed_media  ? "one was left in its media verification and led out of it"
                       : was_running ? "one that was left running was waited for"
                                     : "none is running",
                       was_running);
  }
  if (!is_sanitize(request.method)) {
    return Error{Errc::failed,
                 fmt::format("sanitize: the last one failed and the drive bars reading and writing "
                             "until one succeeds, which {} is not; run `nvme sanitize --sanact=2 "
                             "/dev/{}` (4 for crypto erase), then clean the device again",
                             to_string(request.method), drive.claim.sys().controller)};
  }
  const auto erased = erase_drive(drive, erase_request, on_progress, stop);
  if (!erased) {
    return erased.error().wrap("sanitize: the last one failed, and so does the one to recover");
  }
  return one_finding(fmt::format("the last one had failed and barred reading and writing; {} ended "
                                 "well and lifted that",
                                 to_string(request.method)),
                     true);
}

}  // namespace reclaim::nvme
