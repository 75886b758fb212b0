#include "tests/sim/fake_drives.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace reclaim::sim {
namespace {

constexpr std::int64_t kForeignSanitizeMs = 900'000;
constexpr std::uint64_t kSampleAt = 0;
constexpr std::uint64_t kCanaryAt = 1 << 20;

std::string digest(std::uint64_t content) {
  return fmt::format("{:064x}", content);
}

std::uint32_t cdw10_of(nvme::EraseMethod method) {
  return method == nvme::EraseMethod::sanitize_crypto ? 4 : 2;
}

std::string enrolment_of(const Drive& drive) {
  return fmt::format("{{\"serial\":\"{}\"}}", drive.serial);
}

Error cancelled() {
  return Error{Errc::cancelled, "told to stop"};
}

}  // namespace

void write_media(Drive& drive, std::uint64_t owner, std::uint64_t content) {
  drive.owner = owner;
  drive.content = content;
  drive.canary = 0;
  drive.version += 1;
  drive.host_writes += 10;
  drive.host_reads += 10;
  drive.global_data_erased = drive.kind == Kind::gde_stuck;
}

void settle_sanitize(Drive& drive, std::int64_t now_ms, Rng& rng) {
  if (!drive.running || drive.kind == Kind::stalls || now_ms < drive.running->ends_ms) return;
  drive.last_method = drive.running->method;
  drive.running.reset();
  drive.version += 1;
  if (drive.kind == Kind::fails) {
    drive.sstat = 3;
    return;
  }
  drive.sstat = 1;
  drive.global_data_erased = true;
  if (drive.kind == Kind::keeps_data) return;
  drive.owner = 0;
  drive.hidden_owner = 0;
  drive.canary = 0;
  drive.content = *drive.last_method == nvme::EraseMethod::sanitize_crypto ? rng.next() | 1U : 0;
}

FakeDrives::FakeDrives(Scheduler& scheduler, Rng& rng, const Faults& faults, Hardware& hardware)
    : scheduler_(scheduler), rng_(rng), faults_(faults), hardware_(hardware) {
  for (auto& [address, drive] : hardware_.drives) put_back(address);
}

void FakeDrives::put_back(const PciAddress& address) {
  Drive& drive = hardware_.drives.at(address);
  if (!drive.taken_over) return;
  drive.taken_over = false;
  drive.driver = drive.home;
}

bool FakeDrives::holds_group(const PciAddress& address) const {
  const auto it = lanes_.find(address);
  return it != lanes_.end() && it->second.claimed && it->second.restored;
}

Drive* FakeDrives::find(const PciAddress& address) {
  const auto it = hardware_.drives.find(address);
  if (it == hardware_.drives.end()) return nullptr;
  settle_sanitize(it->second, scheduler_.now_ms(), rng_);
  return &it->second;
}

// -------------------------------------------------------------------------------------------------
// Lanes: one thing after the other on each drive.

void FakeDrives::in_lane(const PciAddress& address, std::function<void(std::uint64_t op)> what) {
  Lane& lane = lanes_[address];
  const std::uint64_t op = ++lane.asked;
  std::function<void()> run = [what = std::move(what), op] { what(op); };
  if (lane.busy) {
    lane.queue.push_back(std::move(run));
    return;
  }
  lane.busy = true;
  scheduler_.answer(faults_.delay_ms(rng_), std::move(run));
}

void FakeDrives::finish(const PciAddress& address, std::function<void()> answer) {
  Lane& lane = lanes_[address];
  lane.busy = false;
  if (!lane.queue.empty()) {
    lane.busy = true;
    scheduler_.answer(0, std::move(lane.queue.front()));
    lane.queue.pop_front();
  }
  scheduler_.answer(faults_.delay_ms(rng_), std::move(answer));
}

bool FakeDrives::stopped(const PciAddress& address, std::uint64_t op) const {
  return op <= lanes_.at(address).stopped_upto;
}

void FakeDrives::stop(const PciAddress& address) {
  Lane& lane = lanes_[address];
  lane.stopped_upto = lane.asked;
}

void FakeDrives::drop(const PciAddress& address, std::function<void()> done) {
  in_lane(address, [this, address, done = std::move(done)](std::uint64_t /*op*/) {
    Lane& lane = lanes_[address];
    lane.claimed = false;
    lane.counters.reset();
    lane.proof = Proof{};
    put_back(address);
    finish(address, done);
  });
}

void FakeDrives::breaks(const PciAddress& address) {
  lanes_[address].broken = true;
}

bool FakeDrives::claimed(const PciAddress& address) const {
  const auto it = lanes_.find(address);
  return it != lanes_.end() && it->second.claimed;
}

bool FakeDrives::intact(const PciAddress& address) const {
  const auto it = lanes_.find(address);
  return it != lanes_.end() && it->second.claimed && !it->second.broken;
}

Proof FakeDrives::proof(const PciAddress& address) const {
  const auto it = lanes_.find(address);
  return it == lanes_.end() ? Proof{} : it->second.proof;
}

// -------------------------------------------------------------------------------------------------
// Looking.

void FakeDrives::discover(nvme::Callback<std::vector<nvme::DriveFacts>> done) {
  scheduler_.answer(faults_.delay_ms(rng_), [this, done = std::move(done)] {
    std::vector<nvme::DriveFacts> out;
    for (auto& [address, drive] : hardware_.drives) {
      settle_sanitize(drive, scheduler_.now_ms(), rng_);
      if (!drive.present) continue;
      nvme::DriveFacts facts;
      facts.address = address;
      facts.vendor_id = 0x144d;
      facts.device_id = 0xa80a;
      facts.class_code = 0x010802;
      facts.driver = drive.driver;
      // A drive in a lane is not opened again; what its claim learnt is told instead.
      const Lane& lane = lanes_[address];
      if (drive.driver == "nvme" && (!lane.busy || lane.counters)) {
        facts.controller = "nvme0";
        facts.controller_state = "live";
        nvme::Identity identity;
        identity.serial = drive.serial;
        identity.model = "SIM";
        identity.firmware = "1";
        identity.capabilities = drive.capabilities;
        facts.identity = identity;
        facts.counters = nvme::Counters{drive.host_reads, drive.host_writes};
        if (lane.counters) {
          facts.identity->serial = lane.serial;
          facts.counters = lane.counters;
        }
      } else {
        facts.problem = drive.driver == "nvme" ? "busy in a lane" : "the nvme driver is not bound";
      }
      out.push_back(std::move(facts));
    }
    Result<std::vector<nvme::DriveFacts>> result = std::move(out);
    if (rng_.chance(faults_.discover_fails)) result = Error{Errc::failed, "sysfs cannot be read"};
    scheduler_.answer(faults_.delay_ms(rng_), [done, result = std::move(result)] { done(result); });
  });
}

void FakeDrives::inspect(const nvme::ClaimRequest& /*request*/,
                         nvme::Callback<std::vector<nvme::GuardFinding>> done) {
  scheduler_.answer(0, [done] { done(std::vector<nvme::GuardFinding>{}); });
}

// The guards that can change between the claim and the command.
std::optional<Error> FakeDrives::guard(const Drive* drive, const Lane& lane) const {
  if (!lane.claimed) return Error{Errc::refused, "it is not claimed"};
  if (lane.broken || drive == nullptr || !drive->present || drive->serial != lane.serial) {
    return Error{Errc::refused, "the claimed descriptors do not answer any more"};
  }
  if (drive->guest != 0 || drive->driver != (lane.restored ? drive->home : "nvme")) {
    return Error{Errc::refused, "a guest has it"};
  }
  if (drive->guarded) return Error{Errc::refused, "it is mounted"};
  return std::nullopt;
}

void FakeDrives::claim(const nvme::ClaimRequest& request, nvme::Callback<nvme::ClaimReport> done) {
  const PciAddress address = request.address;
  in_lane(address, [this, address, request, done = std::move(done)](std::uint64_t op) {
    Lane& lane = lanes_[address];
    Drive* drive = find(address);
    const auto refuse = [&](Errc code, const char* why) {
      finish(address, [done, code, why] { done(Error{code, why}); });
    };
    if (stopped(address, op)) return refuse(Errc::cancelled, "told to stop");
    if (drive == nullptr || !drive->present) return refuse(Errc::busy, "nothing at this address");
    if (drive->guest != 0) return refuse(Errc::busy, "a guest has it");
    if (drive->driver != "nvme" && (request.managed || drive->driver != drive->home)) {
      return refuse(Errc::busy, "the nvme driver is not bound");
    }
    if (drive->guarded) return refuse(Errc::refused, "it is mounted");
    if (lane.claimed) return refuse(Errc::busy, "it is claimed already");
    if (rng_.chance(faults_.command_fails)) return refuse(Errc::refused, "EBUSY");
    if (!request.expected_serial.empty() && request.expected_serial != drive->serial) {
      return refuse(Errc::failed, "another serial than recorded: enrol the new drive");
    }
    if (drive->driver != "nvme") {
      drive->driver = "nvme";
      drive->taken_over = true;
    }
    lane.claimed = true;
    lane.broken = false;
    lane.restored = false;
    lane.serial = drive->serial;
    lane.counters = nvme::Counters{drive->host_reads, drive->host_writes};
    lane.proof = Proof{};
    nvme::ClaimReport report;
    report.findings.push_back(nvme::GuardFinding{"claim", true, "every node is open"});
    nvme::Identity identity;
    identity.serial = drive->serial;
    identity.model = "SIM";
    identity.firmware = "1";
    identity.capabilities = drive->capabilities;
    report.facts.identity = identity;
    // What a tenant left of it; the rest is hidden.
    report.facts.namespaces.push_back(nvme::NamespaceFacts{
        1, "nvme0n1", drive->hidden_owner != 0 ? kWholeBytes / 2 : kWholeBytes, 512, 0});
    finish(address, [done, report] { done(report); });
  });
}

// -------------------------------------------------------------------------------------------------
// Working.

void FakeDrives::run_step(const PciAddress& address, const nvme::StepRequest& request,
                          std::function<void(nvme::EraseProgress)> /*on_progress*/,
                          nvme::Callback<nvme::StepReport> done) {
  in_lane(address, [this, address, request, done = std::move(done)](std::uint64_t op) {
    step_when_idle(address, op, request, scheduler_.now_ms() + request.timeout_ms, done);
  });
}

void FakeDrives::step_when_idle(const PciAddress& address, std::uint64_t op,
                                const nvme::StepRequest& request, std::int64_t deadline_ms,
                                const nvme::Callback<nvme::StepReport>& done) {
  Lane& lane = lanes_[address];
  Drive* drive = find(address);
  const auto refuse = [&](const Error& error) {
    lane.proof.step_failed = lane.proof.step_failed || error.code == Errc::failed;
    finish(address, [done, error] { done(error); });
  };
  if (stopped(address, op)) return refuse(cancelled());
  if (const auto refused = guard(drive, lane)) return refuse(*refused);
  if (lane.proof.step_failed) on_broken(address, "a step after one that failed");
  if (!request.enrolment.empty() && request.enrolment != enrolment_of(*drive)) {
    on_broken(address, "it is measured by another drive's enrolment");
  }
  if (rng_.chance(faults_.command_fails)) {
    return refuse(Error{rng_.chance(0.5) ? Errc::failed : Errc::busy, "no completion"});
  }
  nvme::StepReport report;
  if (request.step == "recover_sanitize" && drive->running) {
    if (scheduler_.now_ms() >= deadline_ms) {
      return refuse(Error{Errc::failed, "a sanitize of somebody else does not end"});
    }
    scheduler_.answer(1'000, [this, address, op, request, deadline_ms, done] {
      step_when_idle(address, op, request, deadline_ms, done);
    });
    return;
  }
  if (request.step == "reset_controller_state" && drive->locked) {
    return refuse(Error{Errc::failed, "opal: locked by a tenant; revert it with its PSID"});
  }
  if (request.step == "reset_namespaces") {
    if (on_touch) on_touch(address, "reset_namespaces");
    report.findings.push_back({"namespaces", "one hidden", drive->hidden_owner != 0});
    // What stood in the hidden one is a part of the whole again, where an erase reaches it.
    if (drive->hidden_owner != 0) drive->owner = drive->hidden_owner;
    drive->hidden_owner = 0;
    drive->version += 1;
  }
  lane.proof.steps.insert(request.step);
  finish(address, [done, report] { done(report); });
}

void FakeDrives::restore_driver(const PciAddress& address, nvme::Callback<Ok> done) {
  in_lane(address, [this, address, done = std::move(done)](std::uint64_t op) {
    Lane& lane = lanes_[address];
    const Drive* drive = find(address);
    const auto refuse = [&](const Error& error) {
      finish(address, [done, error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (auto refused = guard(drive, lane)) return refuse(*refused);
    if (drive->taken_over) {
      if (rng_.chance(faults_.command_fails)) {
        return refuse(Error{Errc::failed, "its former driver does not come back"});
      }
      put_back(address);
      lane.restored = true;
    }
    finish(address, [done] { done(Ok{}); });
  });
}

void FakeDrives::take_baseline(const PciAddress& address, nvme::Callback<nvme::Baseline> done) {
  in_lane(address, [this, address, done = std::move(done)](std::uint64_t op) {
    baseline_when_idle(address, op, scheduler_.now_ms() + kForeignSanitizeMs, done);
  });
}

void FakeDrives::baseline_when_idle(const PciAddress& address, std::uint64_t op,
                                    std::int64_t deadline_ms,
                                    const nvme::Callback<nvme::Baseline>& done) {
  Lane& lane = lanes_[address];
  Drive* drive = find(address);
  const auto refuse = [&](const Error& error) { finish(address, [done, error] { done(error); }); };
  if (stopped(address, op)) return refuse(cancelled());
  if (const auto refused = guard(drive, lane)) return refuse(*refused);
  if (drive->running) {
    if (scheduler_.now_ms() >= deadline_ms) {
      return refuse(Error{Errc::failed, "a sanitize of somebody else does not end"});
    }
    scheduler_.answer(1'000, [this, address, op, deadline_ms, done] {
      baseline_when_idle(address, op, deadline_ms, done);
    });
    return;
  }
  if (rng_.chance(faults_.command_fails)) return refuse(Error{Errc::failed, "read error"});
  for (const char* step : {"recover_sanitize", "reset_controller_state", "reset_namespaces"}) {
    if (!lane.proof.steps.contains(step)) on_broken(address, "a baseline before every step");
  }
  if (lane.proof.step_failed) on_broken(address, "a baseline after a step that failed");
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
  lane.proof.erased = lane.proof.verified = false;
  finish(address, [done, baseline] { done(baseline); });
}

struct FakeDrives::Erasing {
  PciAddress address;
  std::uint64_t op = 0;
  nvme::EraseRequest request;
  bool adopted = false;
  std::int64_t started_ms = 0;
  std::int64_t polls = 0;
  std::function<void(nvme::EraseProgress)> on_progress;
  nvme::Callback<nvme::EraseEvidence> done;
};

void FakeDrives::erase(const PciAddress& address, const nvme::EraseRequest& request,
                       std::function<void(nvme::EraseProgress)> on_progress,
                       nvme::Callback<nvme::EraseEvidence> done) {
  auto job = std::make_shared<Erasing>();
  job->address = address;
  job->request = request;
  job->on_progress = std::move(on_progress);
  job->done = std::move(done);
  in_lane(address, [this, job](std::uint64_t op) {
    job->op = op;
    begin_erase(job);
  });
}

void FakeDrives::end_erase(const std::shared_ptr<Erasing>& job,
                           Result<nvme::EraseEvidence> result) {
  if (result) lanes_[job->address].proof.erased = true;
  finish(job->address, [job, result = std::move(result)] { job->done(result); });
}

void FakeDrives::begin_erase(const std::shared_ptr<Erasing>& job) {
  Lane& lane = lanes_[job->address];
  Drive* drive = find(job->address);
  if (stopped(job->address, job->op)) return end_erase(job, cancelled());
  if (auto refused = guard(drive, lane)) return end_erase(job, *refused);
  lane.proof.erased = lane.proof.verified = false;
  job->started_ms = scheduler_.now_ms();
  const bool sanitize = nvme::is_sanitize(job->request.method);
  if (job->request.adopt_ours) {
    if (!sanitize) on_broken(job->address, "an adoption of what no drive goes on with");
    job->adopted = true;
    const bool ours_runs = drive->running && drive->running->method == job->request.method;
    const bool ours_ended = !drive->running && drive->last_method == job->request.method &&
                            drive->sstat == 1 && drive->global_data_erased;
    if (!ours_runs && !ours_ended) {
      return end_erase(job, Error{Errc::not_found, "our sanitize neither runs nor has it ended"});
    }
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

// What the host, or commands one by one, do: it ends with the worker, and with what it has reached.
void FakeDrives::overwrite_to_end(const std::shared_ptr<Erasing>& job) {
  const Lane& lane = lanes_[job->address];
  Drive* drive = find(job->address);
  const std::int64_t spent_ms = scheduler_.now_ms() - job->started_ms;
  if (stopped(job->address, job->op)) {
    return end_erase(job, Error{Errc::unknown, "told to stop in the middle"});
  }
  if (lane.broken || drive == nullptr || !drive->present) {
    return end_erase(job, Error{Errc::unknown, "the drive does not answer any more"});
  }
  if (drive->kind == Kind::stalls ? spent_ms >= job->request.stall_timeout_ms
                                  : spent_ms >= job->request.timeout_ms) {
    return end_erase(job, Error{Errc::unknown, "not seen to end in time"});
  }
  if (drive->kind == Kind::stalls || spent_ms < drive->sanitize_ms) {
    drive->canary = 0;
    drive->version += 1;
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
  nvme::EraseEvidence evidence;
  evidence.method = job->request.method;
  evidence.duration_ms = spent_ms;
  evidence.bytes_zeroed = 1U << 30U;
  end_erase(job, evidence);
}

void FakeDrives::poll_erase(const std::shared_ptr<Erasing>& job) {
  const Lane& lane = lanes_[job->address];
  const Drive* drive = find(job->address);
  const std::int64_t spent_ms = scheduler_.now_ms() - job->started_ms;
  if (stopped(job->address, job->op)) {
    return end_erase(job, Error{Errc::unknown, "told to stop; the sanitize goes on"});
  }
  if (lane.broken || drive == nullptr || !drive->present) {
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
                        nvme::Callback<nvme::VerifyReport> done) {
  const bool sanitized = nvme::is_sanitize(evidence.method);
  in_lane(address, [this, address, baseline, sanitized, done = std::move(done)](std::uint64_t op) {
    Lane& lane = lanes_[address];
    Drive* drive = find(address);
    const auto refuse = [&](const Error& error) {
      finish(address, [done, error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (auto refused = guard(drive, lane)) return refuse(*refused);
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
    report.enrolment = enrolment_of(*drive);
    report.capacity_bytes = kWholeBytes;
    if (report.samples_counted == 0 || report.samples_unchanged != 0 ||
        report.canaries_found != 0 || (sanitized && !report.global_data_erased)) {
      return refuse(Error{Errc::failed, "the old content is still there"});
    }
    lane.proof.verified = true;
    lane.proof.version = drive->version;
    if (on_verified) on_verified(*drive);
    finish(address, [done, report] { done(report); });
  });
}

void FakeDrives::still_ours(const PciAddress& address, const nvme::Counters& since,
                            nvme::Callback<nvme::Counters> done) {
  in_lane(address, [this, address, since, done = std::move(done)](std::uint64_t op) {
    Lane& lane = lanes_[address];
    const Drive* drive = find(address);
    const auto refuse = [&](const Error& error) {
      finish(address, [done, error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (auto refused = guard(drive, lane)) return refuse(*refused);
    if (drive->host_writes != since.host_writes) {
      return refuse(Error{Errc::refused, "somebody wrote to it since it was verified"});
    }
    finish(address, [done, counters = nvme::Counters{drive->host_reads, drive->host_writes}] {
      done(counters);
    });
  });
}

}  // namespace reclaim::sim
