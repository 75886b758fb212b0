#include "nvme/qualify/trial.h"

#include <fmt/core.h>

#include "nvme/baseline.h"
#include "nvme/clean_steps.h"
#include "nvme/controller/admin.h"
#include "nvme/controller/admin_state.h"
#include "nvme/controller_reset.h"
#include "nvme/erase/erase.h"
#include "nvme/erase/sanitize_erase.h"
#include "nvme/qualify/media.h"
#include "nvme/qualify/power_state.h"
#include "nvme/verification.h"

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kEraseMs = 7LL * 24 * 3600 * 1000;
constexpr std::uint32_t kNotReported = 0xffffffff;
constexpr unsigned kHasFailed = 3;

ReportProgress as(std::string_view doing, const ReportTrial& report) {
  return [doing, &report](const EraseProgress& progress) { report(doing, progress); };
}

EraseRequest request_of(EraseMethod method) {
  EraseRequest request;
  request.method = method;
  request.timeout_ms = kEraseMs;
  return request;
}

std::int64_t seconds(std::uint32_t told) {
  return told == kNotReported ? -1 : std::int64_t{told};
}

// A reset ends with the same drive, unused, or with nothing that is written to.
Status reset_in_between(const DriveContext& drive, Trial& trial, StopFlag& stop) {
  Status done = reset_and_wait(drive, stop);
  if (done) done = drive.claim.recheck();
  if (done) {
    trial.reset = "the controller was reset and came back";
    return done;
  }
  // A guard that somebody came to tells nothing of the drive.
  if (done.error().code == Errc::cancelled || done.error().code == Errc::busy) return done;
  trial.reset_failed = true;
  trial.reset = "a reset of the controller did not bring the drive back: " + done.error().what;
  return Error{Errc::failed, trial.reset, done.error().raw};
}

Status look_at_log(const DriveContext& drive, Trial& trial) {
  if (!is_sanitize(trial.method)) return Ok{};
  const auto log = sanitize_log(drive);
  if (!log) return log.error();
  trial.scdw10 = log->scdw10;
  trial.sstat = log->sstat;
  trial.global_data_erased = log->global_data_erased();
  return Ok{};
}

// Whatever appeared since the claim stops us here.
Status ready_to_write(const DriveContext& drive) {
  if (auto whole = drive.claim.whole(); !whole) return whole;
  return drive.claim.recheck();
}

// Reads the media, then checks that it is the claimed drive's and that nobody else has come to it.
Result<MediaLook> look(const DriveContext& drive, const std::vector<Pattern>& patterns,
                       const ReportProgress& on_progress, StopFlag& stop) {
  auto seen = look_at_media(drive, patterns, on_progress, stop);
  if (!seen) return seen;
  if (auto same = drive.claim.recheck(); !same) return std::move(same).error();
  return seen;
}

}  // namespace

Result<DriveSays> ask_drive(const DriveContext& drive) {
  const Identity& identity = drive.claim.identity();
  DriveSays says;
  says.model = identity.model;
  says.serial = identity.serial;
  says.firmware = identity.firmware;
  says.vendor_id = fmt::format("{:04x}", drive.claim.sys().vendor_id);
  says.product_id = fmt::format("{:04x}", drive.claim.sys().device_id);
  says.cmic = identity.cmic;
  says.capabilities = identity.capabilities;
  const auto namespaces = drive.claim.namespace_facts();
  if (namespaces.empty()) {
    return Error{Errc::refused,
                 "the drive has no namespace, so there is nothing to write to: make one with "
                 "`nvme create-ns`"};
  }
  says.namespaces = static_cast<std::uint32_t>(namespaces.size());
  says.block_bytes = namespaces.front().block_bytes;
  says.dlfeat = namespaces.front().dlfeat & 7U;
  for (const NamespaceFacts& ns : namespaces) says.capacity_bytes += ns.capacity_bytes;
  if (identity.capabilities.sanitize()) {
    const auto log = sanitize_log(drive);
    if (!log) return log.error();
    says.crypto_estimate_s = seconds(log->crypto_s);
    says.block_estimate_s = seconds(log->block_s);
  }
  const auto health = read_health(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!health) return health.error();
  says.percentage_used = health->percentage_used;
  says.media_errors = health->media_errors;
  return says;
}

Rules rules_for_trials() {
  Rules rules;
  rules.relaxed.global_data_erased = true;
  rules.relaxed.deallocated_value = true;
  return rules;
}

Status settle(const DriveContext& drive, StopFlag& stop) {
  if (!drive.claim.identity().capabilities.sanitize()) return Ok{};
  const EraseRequest patience;
  const auto idle = wait_while_sanitizing(drive, MonoMs{drive.clock.now().mono.ms + kEraseMs},
                                          patience.stall_timeout_ms, stop);
  if (!idle) return idle.error();
  return Ok{};
}

Result<bool> is_barred_by_sanitize(const DriveContext& drive) {
  if (!drive.claim.identity().capabilities.sanitize()) return false;
  const auto log = sanitize_log(drive);
  if (!log) return log.error();
  return log->in_progress() || log->status() == kHasFailed;
}

Status lift_failed_sanitize(DriveContext& drive, EraseMethod method, const ReportTrial& report,
                            StopFlag& stop) {
  StepRequest step;
  step.step = DriveStep::recover_sanitize;
  step.method = method;
  step.timeout_ms = kEraseMs;
  const auto recovered = recover_sanitize(drive, step, as("lift a failed sanitize", report), stop);
  if (!recovered) return recovered.error();
  return Ok{};
}

Status prepare_trial(DriveContext& drive, Trial& trial, const std::vector<Pattern>& patterns,
                     const ReportTrial& report, StopFlag& stop) {
  if (auto ready = ready_to_write(drive); !ready) return ready;
  const auto written = write_pattern(drive, patterns.back(), as("write pattern", report), stop);
  if (!written) return written.error();
  trial.written = *written;
  const auto seen = look(drive, patterns, as("read it back", report), stop);
  if (!seen) return seen.error();
  trial.read_back = seen->pass;
  trial.before = seen->counts;
  return Ok{};
}

Status run_trial(DriveContext& drive, Trial& trial, const std::vector<Pattern>& patterns,
                 const ReportTrial& report, StopFlag& stop) {
  const auto evidence = erase_drive(drive, request_of(trial.method), as("erase", report), stop);
  if (!evidence) return evidence.error();
  trial.claims_erased = true;
  trial.erased = Pass{trial.written.bytes, evidence->duration_ms};
  trial.power = visit_deepest_power_state(drive, stop);
  if (auto reset = reset_in_between(drive, trial, stop); !reset) return reset;
  const auto seen = look(drive, patterns, as("read every block", report), stop);
  if (!seen) return seen.error();
  trial.looked_at = seen->pass;
  trial.after = seen->counts;
  return look_at_log(drive, trial);
}

Result<Baseline> prepare_last_erase(DriveContext& drive, const Pattern& pattern,
                                    const ReportTrial& report, StopFlag& stop) {
  if (auto ready = ready_to_write(drive); !ready) return std::move(ready).error();
  // Blank media would prove little.
  const auto written = write_pattern(drive, pattern, as("write pattern", report), stop);
  if (!written) return written.error();
  return take_baseline(drive, stop);
}

Result<LastErase> erase_at_end(DriveContext& drive, EraseMethod method, const Baseline& baseline,
                               const ReportTrial& report, StopFlag& stop) {
  const MonoMs begun = drive.clock.now().mono;
  const auto evidence =
      erase_drive(drive, request_of(method), as("erase, as the last", report), stop);
  if (!evidence) return evidence.error();
  const auto verified = verify_erasure(drive, baseline, *evidence, as("verify it", report), stop);
  if (!verified) return verified.error();
  LastErase last;
  last.method = to_string(method);
  last.verified = true;
  last.text = fmt::format("{} places that held data read again ({}), none of them as before: {}",
                          verified->report.samples_counted, to_string(verified->report.level),
                          verified->report.expectation);
  last.duration_ms = drive.clock.now().mono.ms - begun.ms;
  return last;
}

}  // namespace reclaim::nvme
