// What a claimed drive is asked for: clean steps, baseline, erase and verification.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/sim/fake_drives.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kForeignSanitizeMs = 900'000;
constexpr std::int64_t kCommandMs = 2'000;
constexpr std::uint64_t kSampleAt = 0;
constexpr std::uint64_t kCanaryAt = 1 << 20;

std::string digest(std::uint64_t content) {
  return fmt::format("{:064x}", content);
}

std::uint32_t cdw10_of(nvme::EraseMethod method) {
  return method == nvme::EraseMethod::sanitize_crypto ? 4 : 2;
}

std::string enrolment_of(const Drive& drive) {
  return drive.enrolled_as.empty() ? fmt::format("{{\"serial\":\"{}\"}}", drive.serial)
                                   : drive.enrolled_as;
}

}  // namespace

void FakeDrives::run_step(const PciAddress& address, const nvme::StepRequest& request,
                          std::function<void(nvme::EraseProgress)> /*on_progress*/,
                          Callback<nvme::StepReport> done) {
  on_thread(address, [this, address, request, done = std::move(done)](std::uint64_t op) mutable {
    step_when_idle(address, op, request, scheduler_.now_ms() + request.timeout_ms, std::move(done));
  });
}

void FakeDrives::step_when_idle(const PciAddress& address, std::uint64_t op,
                                const nvme::StepRequest& request, std::int64_t deadline_ms,
                                Callback<nvme::StepReport> done) {
  DriveThread& thread = drive_threads_[address];
  Drive* drive = find(address);
  const auto refuse = [&](const Error& error) {
    const bool ends_it = error.code == Errc::failed || error.code == Errc::unknown;
    thread.proof.step_failed = thread.proof.step_failed || ends_it;
    finish(address, [done = std::move(done), error] { done(error); });
  };
  if (stopped(address, op)) return refuse(cancelled());
  if (const auto refused = guard(drive, thread)) return refuse(*refused);
  if (thread.proof.step_failed) on_broken(address, "a step after one that failed");
  if (!request.enrolment.empty() && request.enrolment != enrolment_of(*drive)) {
    if (is_accepted(address)) on_broken(address, "it is measured by another drive's enrolment");
    return refuse(Error{Errc::failed, "the enrolment baseline is another drive's: enrol this one"});
  }
  if (drive->steps_end_with) return refuse(Error{*drive->steps_end_with, "not seen to complete"});
  if (rng_.chance(faults_.command_fails)) {
    constexpr std::array kAnswers{Errc::failed, Errc::unknown, Errc::busy};
    return refuse(Error{kAnswers.at(rng_.below(kAnswers.size())), "no completion"});
  }
  nvme::StepReport report;
  if (request.step == nvme::DriveStep::recover_sanitize && drive->running) {
    if (scheduler_.now_ms() >= deadline_ms) {
      return refuse(Error{Errc::failed, "a sanitize of somebody else does not end"});
    }
    scheduler_.answer(1'000,
                      [this, address, op, request, deadline_ms, done = std::move(done)]() mutable {
                        step_when_idle(address, op, request, deadline_ms, std::move(done));
                      });
    return;
  }
  if (request.step == nvme::DriveStep::reset_controller_state && drive->locked) {
    return refuse(Error{Errc::failed, "opal: locked by a tenant; revert it with its PSID"});
  }
  if (request.step == nvme::DriveStep::reset_controller_state) {
    drive->changed_by = 0;
    report.reverted = std::exchange(drive->reverted, "");
  }
  if (request.step == nvme::DriveStep::reset_namespaces) {
    if (on_touch) on_touch(address, "reset_namespaces");
    report.findings.push_back({"namespaces", "one hidden", drive->hidden_owner != 0});
    // What stood in the hidden one is a part of the whole again, where an erase reaches it.
    if (drive->hidden_owner != 0) drive->owner = drive->hidden_owner;
    drive->hidden_owner = 0;
    drive->version += 1;
  }
  thread.proof.steps.insert(std::string(to_string(request.step)));
  finish(address, [done = std::move(done), report] { done(report); });
}

void FakeDrives::run_command(const PciAddress& address, const nvme::Command& command,
                             std::function<void(nvme::CommandProgress)> on_progress,
                             Callback<nvme::CommandReport> done) {
  on_thread(address, [this, address, command, on_progress = std::move(on_progress),
                      done = std::move(done)](std::uint64_t op) mutable {
    DriveThread& thread = drive_threads_[address];
    const auto refuse = [&](const Error& error) {
      finish(address, [done = std::move(done), error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (const auto refused = guard(find(address), thread)) return refuse(*refused);
    const auto digest = hardware_.commands.find(command.path);
    if (digest == hardware_.commands.end()) return refuse(Error{Errc::refused, "no such command"});
    if (command.sha256 != digest->second) {
      return refuse(Error{Errc::busy, "command changed since the plan was locked in"});
    }
    if (on_command) on_command(command);
    on_progress({50, "half"});
    scheduler_.answer(kCommandMs, [this, address, op, command, done = std::move(done)]() mutable {
      end_command(address, op, command, std::move(done));
    });
  });
}

// It runs on while nobody waits for it, like a child that was told to end and has not yet.
void FakeDrives::end_command(const PciAddress& address, std::uint64_t op,
                             const nvme::Command& command, Callback<nvme::CommandReport> done) {
  DriveThread& thread = drive_threads_[address];
  Drive* drive = find(address);
  const auto refuse = [&](const Error& error) {
    thread.proof.step_failed = thread.proof.step_failed || error.code == Errc::failed;
    finish(address, [done = std::move(done), error] { done(error); });
  };
  if (stopped(address, op)) return refuse(cancelled());
  if (drive == nullptr) return refuse(Error{Errc::failed, "the device is gone"});
  if (drive->command_writes && drive->is_nvme()) write_media(*drive, drive->owner, drive->content);
  if (drive->command_ends_with) return refuse(Error{*drive->command_ends_with, "exit status 3"});
  if (rng_.chance(faults_.command_fails)) {
    constexpr std::array kAnswers{Errc::failed, Errc::busy};
    return refuse(Error{kAnswers.at(rng_.below(kAnswers.size())), "exit status"});
  }
  if (!drive->is_nvme() && hardware_.cleaning_commands.contains(command.path)) {
    if (on_touch) on_touch(address, "clean_function");
    drive->owner = drive->hidden_owner = drive->content = 0;
    thread.proof.erased = thread.proof.verified = true;
    thread.proof.version = ++drive->version;
    if (on_verified) on_verified(*drive);
  }
  (thread.proof.verified && drive->is_nvme() ? thread.proof.commands_after
                                             : thread.proof.commands_before)
      .insert(command.path);
  nvme::CommandReport report;
  report.findings.push_back({"firmware", "as it should be", false});
  report.result = "done";
  report.sha256 = command.sha256;
  finish(address, [done = std::move(done), report] { done(report); });
}

void FakeDrives::take_baseline(const PciAddress& address, Callback<nvme::Baseline> done) {
  on_thread(address, [this, address, done = std::move(done)](std::uint64_t op) mutable {
    baseline_when_idle(address, op, scheduler_.now_ms() + kForeignSanitizeMs, std::move(done));
  });
}

void FakeDrives::baseline_when_idle(const PciAddress& address, std::uint64_t op,
                                    std::int64_t deadline_ms, Callback<nvme::Baseline> done) {
  DriveThread& thread = drive_threads_[address];
  Drive* drive = find(address);
  const auto refuse = [&](const Error& error) {
    finish(address, [done = std::move(done), error] { done(error); });
  };
  if (stopped(address, op)) return refuse(cancelled());
  if (const auto refused = guard(drive, thread)) return refuse(*refused);
  if (drive->running) {
    if (scheduler_.now_ms() >= deadline_ms) {
      return refuse(Error{Errc::failed, "a sanitize of somebody else does not end"});
    }
    scheduler_.answer(1'000, [this, address, op, deadline_ms, done = std::move(done)]() mutable {
      baseline_when_idle(address, op, deadline_ms, std::move(done));
    });
    return;
  }
  if (rng_.chance(faults_.command_fails)) return refuse(Error{Errc::failed, "read error"});
  for (const char* step : {"recover_sanitize", "reset_controller_state", "reset_namespaces"}) {
    if (!thread.proof.steps.contains(step)) on_broken(address, "a baseline before every step");
  }
  for (const std::string& command : hardware_.required_commands) {
    if (!thread.proof.commands_before.contains(command)) {
      on_broken(address, "a baseline before every step of the operator's");
    }
  }
  if (thread.proof.step_failed) on_broken(address, "a baseline after a step that failed");
  if (on_touch) on_touch(address, "canary");
  nvme::Baseline baseline;
  nvme::Sample sample{1, kSampleAt, 4096, digest(drive->content), drive->content == 0};
  baseline.samples.push_back(sample);
  drive->canary = rng_.next() | 1U;
  drive->version += 1;
  drive->host_reads += 2;
  drive->host_writes += 1;
  if (drive->kind != Kind::gde_stuck) drive->global_data_erased = false;
  baseline.canaries.push_back(nvme::Sample{1, kCanaryAt, 4096, digest(drive->canary), false});
  thread.proof.erased = thread.proof.verified = false;
  finish(address, [done = std::move(done), baseline] { done(baseline); });
}

struct FakeDrives::Erasing {
  PciAddress address;
  std::uint64_t op = 0;
  nvme::EraseRequest request;
  bool adopted = false;
  std::int64_t started_ms = 0;
  std::int64_t polls = 0;
  std::function<void(nvme::EraseProgress)> on_progress;
  Callback<nvme::EraseEvidence> done;
};

void FakeDrives::erase(const PciAddress& address, const nvme::EraseRequest& request,
                       std::function<void(nvme::EraseProgress)> on_progress,
                       Callback<nvme::EraseEvidence> done) {
  auto job = std::make_shared<Erasing>();
  job->address = address;
  job->request = request;
  job->on_progress = std::move(on_progress);
  job->done = std::move(done);
  on_thread(address, [this, job](std::uint64_t op) {
    job->op = op;
    begin_erase(job);
  });
}

void FakeDrives::end_erase(const std::shared_ptr<Erasing>& job,
                           Result<nvme::EraseEvidence> result) {
  if (result) drive_threads_[job->address].proof.erased = true;
  finish(job->address, [job, result = std::move(result)] { job->done(result); });
}

void FakeDrives::begin_erase(const std::shared_ptr<Erasing>& job) {
  DriveThread& thread = drive_threads_[job->address];
  Drive* drive = find(job->address);
  if (stopped(job->address, job->op)) return end_erase(job, cancelled());
  if (auto refused = guard(drive, thread)) return end_erase(job, *refused);
  thread.proof.erased = thread.proof.verified = false;
  job->started_ms = scheduler_.now_ms();
  const bool sanitize = nvme::is_sanitize(job->request.method);
  if (job->request.adopt_ours) {
    if (!sanitize) return go_on_zeroing(job);
    job->adopted = true;
    const bool ours_runs = drive->running && drive->running->method == job->request.method;
    if (!ours_runs) return end_erase(job, Error{Errc::not_found, "no sanitize of ours runs"});
    return poll_erase(job);
  }
  if (drive->running) return end_erase(job, Error{Errc::failed, "a sanitize runs already"});
  if (rng_.chance(faults_.command_fails)) {
    return end_erase(job, Error{rng_.chance(0.5) ? Errc::failed : Errc::unknown, "no completion"});
  }
  if (sanitize && drive->capabilities.sanicap == 0) {
    return end_erase(job, Error{Errc::failed, "invalid opcode"});
  }
  if (on_touch) on_touch(job->address, "erase");
  drive->version += 1;
  if (!sanitize) return overwrite_to_end(job);
  drive->running =
      Sanitize{job->request.method, scheduler_.now_ms(), scheduler_.now_ms() + drive->sanitize_ms};
  drive->global_data_erased = false;
  drive->sstat = 2;
  poll_erase(job);
}

std::string FakeDrives::mark_of(const Drive& drive, bool ended) {
  return fmt::format("{} at {}, disk {}{}", drive.serial, drive.version, drive.disk,
                     ended ? ", to its end" : "");
}

void FakeDrives::go_on_zeroing(const std::shared_ptr<Erasing>& job) {
  const Drive* drive = find(job->address);
  if (job->request.mark.empty()) {
    on_broken(job->address, "an adoption of what no drive goes on with");
  }
  const bool ended = job->request.mark == mark_of(*drive, true);
  if (!ended && job->request.mark != mark_of(*drive, false)) {
    return end_erase(job, Error{Errc::not_found, "somebody else wrote"});
  }
  job->adopted = true;
  if (ended) return end_zeroing(job);
  overwrite_to_end(job);
}

// What the host, or commands one by one, do: it ends with the worker, and with what it has reached.
void FakeDrives::overwrite_to_end(const std::shared_ptr<Erasing>& job) {
  const DriveThread& thread = drive_threads_[job->address];
  Drive* drive = find(job->address);
  const std::int64_t spent_ms = scheduler_.now_ms() - job->started_ms;
  if (stopped(job->address, job->op)) {
    return end_erase(job, Error{Errc::unknown, "told to stop in the middle"});
  }
  if (thread.broken || drive == nullptr || !drive->present) {
    return end_erase(job, Error{Errc::unknown, "the drive does not answer any more"});
  }
  if (drive->kind == Kind::stalls ? spent_ms >= job->request.stall_timeout_ms
                                  : spent_ms >= job->request.timeout_ms) {
    return end_erase(job, Error{Errc::unknown, "not seen to end in time"});
  }
  if (drive->kind == Kind::stalls || spent_ms < drive->sanitize_ms) {
    drive->canary = 0;
    drive->version += 1;
    if (hardware_.marks_zeroing) job->request.on_mark(mark_of(*drive, false));
    const std::int64_t left_ms = drive->sanitize_ms - spent_ms;
    scheduler_.answer(left_ms > 0 ? std::min<std::int64_t>(left_ms, 20'000) : 20'000,
                      [this, job] { overwrite_to_end(job); });
    return;
  }
  if (drive->kind == Kind::fails) return end_erase(job, Error{Errc::failed, "a write failed"});
  drive->version += 1;
  drive->host_writes += 1;
  if (drive->kind != Kind::keeps_data) {
    drive->content = 0;
    drive->owner = 0;
  }
  drive->canary = 0;
  if (hardware_.marks_zeroing) job->request.on_mark(mark_of(*drive, true));
  end_zeroing(job);
}

void FakeDrives::end_zeroing(const std::shared_ptr<Erasing>& job) {
  nvme::EraseEvidence evidence;
  evidence.method = job->request.method;
  evidence.duration_ms = scheduler_.now_ms() - job->started_ms;
  evidence.bytes_zeroed = 1U << 30U;
  evidence.adopted = job->adopted;
  end_erase(job, evidence);
}

void FakeDrives::poll_erase(const std::shared_ptr<Erasing>& job) {
  const DriveThread& thread = drive_threads_[job->address];
  const Drive* drive = find(job->address);
  const std::int64_t spent_ms = scheduler_.now_ms() - job->started_ms;
  if (stopped(job->address, job->op)) {
    return end_erase(job, Error{Errc::unknown, "told to stop; the sanitize goes on"});
  }
  if (thread.broken || drive == nullptr || !drive->present) {
    return end_erase(job, Error{Errc::unknown, "the drive does not answer any more"});
  }
  if (!drive->running) {
    if (drive->sstat == 3) return end_erase(job, Error{Errc::failed, "the sanitize failed"});
    if (drive->last_method != job->request.method || drive->sstat != 1 ||
        !drive->global_data_erased) {
      return end_erase(job, Error{Errc::failed, "the log shows no erasure of ours"});
    }
    nvme::EraseEvidence evidence;
    evidence.method = job->request.method;
    evidence.cdw10 = cdw10_of(job->request.method);
    evidence.scdw10 = evidence.cdw10;
    evidence.sstat = 1;
    evidence.global_data_erased = true;
    evidence.adopted = job->adopted;
    evidence.duration_ms = spent_ms;
    return end_erase(job, evidence);
  }
  const std::int64_t limit_ms =
      drive->kind == Kind::stalls ? std::min(job->request.stall_timeout_ms, job->request.timeout_ms)
                                  : job->request.timeout_ms;
  if (spent_ms >= limit_ms) {
    return end_erase(job, Error{Errc::unknown, "not seen to end in time"});
  }
  job->polls += 1;
  if (job->polls % 4 == 1 && job->on_progress) job->on_progress(nvme::EraseProgress{50, 1});
  scheduler_.answer(std::min<std::int64_t>(1'000 * job->polls, 10'000),
                    [this, job] { poll_erase(job); });
}

void FakeDrives::verify(const PciAddress& address, const nvme::Baseline& baseline,
                        const nvme::EraseEvidence& evidence,
                        std::function<void(nvme::EraseProgress)> /*on_progress*/,
                        Callback<nvme::VerifyReport> done) {
  const bool sanitized = nvme::is_sanitize(evidence.method);
  on_thread(address,
            [this, address, baseline, sanitized, done = std::move(done)](std::uint64_t op) mutable {
              const Drive* drive = find(address);
              const std::int64_t takes_ms = drive == nullptr ? 0 : drive->verify_ms;
              verify_when_read(address, op, scheduler_.now_ms() + takes_ms, baseline, sanitized,
                               std::move(done));
            });
}

void FakeDrives::verify_when_read(const PciAddress& address, std::uint64_t op,
                                  std::int64_t until_ms, const nvme::Baseline& baseline,
                                  bool sanitized, Callback<nvme::VerifyReport> done) {
  if (scheduler_.now_ms() < until_ms && !stopped(address, op)) {
    const std::int64_t left_ms = until_ms - scheduler_.now_ms();
    scheduler_.answer(
        std::min<std::int64_t>(left_ms, 10'000),
        [this, address, op, until_ms, baseline, sanitized, done = std::move(done)]() mutable {
          verify_when_read(address, op, until_ms, baseline, sanitized, std::move(done));
        });
    return;
  }
  DriveThread& thread = drive_threads_[address];
  Drive* drive = find(address);
  const auto refuse = [&](const Error& error) {
    finish(address, [done = std::move(done), error] { done(error); });
  };
  if (stopped(address, op)) return refuse(cancelled());
  if (auto refused = guard(drive, thread)) return refuse(*refused);
  if (rng_.chance(faults_.command_fails)) return refuse(Error{Errc::failed, "read error"});
  if (drive->running) return refuse(Error{Errc::failed, "a sanitize runs"});
  nvme::VerifyReport report;
  for (const nvme::Sample& sample : baseline.samples) {
    report.samples_read += 1;
    if (sample.blank) continue;
    report.samples_counted += 1;
    if (sample.sha256 == digest(drive->content)) report.samples_unchanged += 1;
  }
  for (const nvme::Sample& canary : baseline.canaries) {
    report.samples_read += 1;
    report.samples_counted += 1;
    if (canary.sha256 == digest(drive->canary)) report.canaries_found += 1;
  }
  drive->host_reads += 2;
  report.bytes_read = 8192;
  report.global_data_erased = drive->global_data_erased;
  report.counters = nvme::Counters{drive->host_reads, drive->host_writes};
  report.expectation = "changed";
  report.enrolment = drive->left_as.empty() ? enrolment_of(*drive) : drive->left_as;
  report.capacity_bytes = kWholeBytes;
  if (report.samples_counted == 0 || report.samples_unchanged != 0 || report.canaries_found != 0 ||
      (sanitized && !report.global_data_erased)) {
    return refuse(Error{Errc::failed, "the old content is still there"});
  }
  thread.proof.unfit = drive->unfit;
  report.health.push_back({"critical_warning", "none", false});
  if (drive->unfit) report.unfit.emplace_back("101 % of its endurance is used");
  thread.proof.verified = true;
  thread.proof.version = drive->version;
  if (on_verified) on_verified(*drive);
  finish(address, [done = std::move(done), report] { done(report); });
}

}  // namespace reclaim::sim
