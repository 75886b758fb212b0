// The first clean steps of a claimed drive: whether it is well enough to be given back, and whether
// it can be read and written at all or a sanitize is in the way.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "nvme/controller/admin_state.h"
#include "nvme/controller/health.h"
#include "nvme/drive.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kSanitizeActions = 7;  // SANICAP bits 2:0
constexpr unsigned kRunning = 2;               // SSTAT bits 2:0
constexpr unsigned kHasFailed = 3;
constexpr std::string_view kSurface = "sanitize";

StepReport one_finding(std::string found, bool reset = false) {
  StepReport report;
  report.findings.push_back(StepFinding{std::string(kSurface), std::move(found), reset});
  return report;
}

}  // namespace

Result<std::optional<ControllerState>> Drive::enrolled(const StepRequest& request) const {
  if (request.enrolment.empty()) return std::optional<ControllerState>();
  auto state = decode_controller_state(request.enrolment);
  if (!state) {
    return Error{Errc::failed, state.error().what + "; enrol the drive anew"};
  }
  if (state->serial != claim_.identity().serial) {
    return Error{Errc::failed,
                 fmt::format("the enrolment baseline is of serial {}, this drive is {}; enrol the "
                             "drive that is there now",
                             state->serial, claim_.identity().serial)};
  }
  return std::optional<ControllerState>(*std::move(state));
}

Result<StepReport> Drive::check_health(const StepRequest& request) {
  const auto baseline = enrolled(request);
  if (!baseline) return baseline.error();
  const auto health = read_health(claim_.controller_fd(), options_.admin_timeout_ms);
  if (!health) return Error{Errc::failed, "health: " + health.error().what, health.error().raw};
  HealthJudgement judgement =
      judge_health(*health, *baseline ? &(*baseline)->health : nullptr, claim_.rules().health);
  if (!judgement.problems.empty()) {
    return Error{Errc::failed, fmt::format("health: {}", fmt::join(judgement.problems, "; also "))};
  }
  return StepReport{std::move(judgement.findings)};
}

// A sanitize that somebody left running is waited for; one that failed bars reading and writing
// until one succeeds, and then ours is that one.
Result<StepReport> Drive::recover_sanitize(const StepRequest& request,
                                           const std::function<void(EraseProgress)>& on_progress,
                                           StopFlag& stop) {
  if ((claim_.identity().capabilities.sanicap & kSanitizeActions) == 0) {
    return one_finding("the drive has no Sanitize");
  }
  EraseRequest erase_request;
  erase_request.method = request.method;
  erase_request.timeout_ms = request.timeout_ms;
  const auto found = sanitize_log();
  if (!found) return Error{Errc::failed, "sanitize: " + found.error().what, found.error().raw};
  const bool was_running = found->status() == kRunning;
  const MonoMs deadline{clock_.now().mono.ms + request.timeout_ms};
  const auto idle = wait_while_sanitizing(deadline, erase_request.stall_timeout_ms, stop);
  if (!idle) return idle.error();
  if (idle->status() != kHasFailed) {
    return one_finding(was_running ? "one that was left running was waited for" : "none is running",
                       was_running);
  }
  if (!is_sanitize(request.method)) {
    return Error{Errc::failed,
                 fmt::format("sanitize: the last one failed and the drive bars reading and writing "
                             "until one succeeds, which {} is not; run `nvme sanitize --sanact=2 "
                             "/dev/{}` (4 for crypto erase), then clean the device again",
                             to_string(request.method), claim_.sys().controller)};
  }
  const auto erased = erase(erase_request, on_progress, stop);
  if (!erased) {
    return erased.error().wrap("sanitize: the last one failed, and so does the one to recover");
  }
  return one_finding(fmt::format("the last one had failed and barred reading and writing; {} ended "
                                 "well and lifted that",
                                 to_string(request.method)),
                     true);
}

}  // namespace reclaim::nvme
