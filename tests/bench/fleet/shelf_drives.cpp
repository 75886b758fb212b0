#include "tests/bench/fleet/shelf_drives.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace reclaim::fleet {
namespace {

constexpr std::uint8_t kFirstBus = 0x10;
constexpr std::uint64_t kBytes = std::uint64_t{1} << 40U;
// What a drive takes: a look from sysfs, an Identify, some reads.
constexpr std::int64_t kLookMs = 2;
constexpr std::int64_t kCommandMs = 5;
constexpr std::int64_t kPollMs = 1'000;

std::string digest(std::uint64_t content) {
  return fmt::format("{:064x}", content);
}

std::uint32_t cdw10_of(nvme::EraseMethod method) {
  return method == nvme::EraseMethod::sanitize_crypto ? 4 : 2;
}

nvme::Counters counters_of(const Disk& disk) {
  return {disk.host_reads, disk.host_writes};
}

}  // namespace

PciAddress address_of(std::size_t drive) {
  return {0, static_cast<std::uint8_t>(kFirstBus + drive), 0, 0};
}

ShelfDrives::ShelfDrives(uv_loop_t* loop, std::span<Disk> disks, std::string serials,
                         std::int64_t erase_ms)
    : timers_(loop), disks_(disks), serials_(std::move(serials)), erase_ms_(erase_ms) {}

Disk& ShelfDrives::disk(const PciAddress& address) const {
  Disk& found = disks_[address.bus - std::size_t{kFirstBus}];
  settle(found, now_ms());
  return found;
}

std::string ShelfDrives::serial(const PciAddress& address) const {
  return fmt::format("{}{:02x}", serials_, address.bus);
}

nvme::DriveFacts ShelfDrives::facts(const PciAddress& address) const {
  const Disk& it = disk(address);
  nvme::DriveFacts out;
  out.address = address;
  out.vendor_id = kVendor;
  out.device_id = kProduct;
  out.class_code = 0x010802;
  out.hardware.slot = fmt::format("{}", address.bus);
  if (it.guest != 0) {
    out.driver = "vfio-pci";
    out.guest = "libvirt domain tenant names it";
    out.problem = "the nvme driver is not bound";
    return out;
  }
  out.driver = "nvme";
  out.controller = fmt::format("nvme{}", address.bus);
  out.controller_state = "live";
  out.identity = nvme::Identity{serial(address), "FLEET", "1", 0, {3, 8, 0, 0}};
  const auto claim = claims_.find(address);
  const bool held = claim != claims_.end() && claim->second.held;
  out.counters = held ? claim->second.counters : counters_of(it);
  out.namespaces.push_back({1, out.controller + "n1", kBytes, 512, 0});
  return out;
}

template <typename T, typename Work>
void ShelfDrives::of_claimed(const PciAddress& address, std::int64_t delay_ms, Callback<T> done,
                             Work work) {
  timers_.after(delay_ms, [this, address, done = std::move(done), work = std::move(work)] {
    if (!claims_[address].held) return done(Error{Errc::refused, "it is not claimed"});
    if (disk(address).guest != 0) return done(Error{Errc::busy, "a guest has it"});
    done(work(disk(address)));
  });
}

template <typename T>
void ShelfDrives::refuse(Callback<T> done) {
  timers_.after(0, [done = std::move(done)] {
    done(Error{Errc::refused, "the fleet bench has nothing but drives and no steps of operators"});
  });
}

void ShelfDrives::discover(const std::set<PciAddress>& /*others*/,
                           Callback<std::vector<nvme::DriveFacts>> done) {
  timers_.after(kLookMs, [this, done = std::move(done)] {
    std::vector<nvme::DriveFacts> out;
    for (std::size_t i = 0; i < disks_.size(); ++i) out.push_back(facts(address_of(i)));
    done(std::move(out));
  });
}

void ShelfDrives::find_signatures(const PciAddress& /*address*/,
                                  Callback<std::vector<std::string>> done) {
  timers_.after(kLookMs, [done = std::move(done)] { done(std::vector<std::string>{}); });
}

void ShelfDrives::claim(const nvme::ClaimRequest& request, Callback<nvme::ClaimReport> done) {
  timers_.after(kCommandMs, [this, request, done = std::move(done)] {
    Claim& claim = claims_[request.address];
    if (claim.held) return done(Error{Errc::busy, "it is claimed already"});
    if (disk(request.address).guest != 0) return done(Error{Errc::busy, "a guest has it"});
    if (!request.expected_serial.empty() && request.expected_serial != serial(request.address)) {
      return done(Error{Errc::failed, "another serial than recorded"});
    }
    claim.held = true;
    claim.counters = counters_of(disk(request.address));
    nvme::ClaimReport report;
    report.findings.push_back({"claim", true, "every node is open"});
    report.facts = facts(request.address);
    done(std::move(report));
  });
}

void ShelfDrives::inspect(const nvme::ClaimRequest& /*request*/,
                          Callback<std::vector<nvme::GuardFinding>> done) {
  timers_.after(kLookMs, [done = std::move(done)] { done(std::vector<nvme::GuardFinding>{}); });
}

void ShelfDrives::claim_function(const nvme::PciClaimRequest& /*request*/,
                                 Callback<nvme::ClaimReport> done) {
  refuse(std::move(done));
}
void ShelfDrives::inspect_function(const nvme::PciClaimRequest& /*request*/,
                                   Callback<std::vector<nvme::GuardFinding>> done) {
  refuse(std::move(done));
}
void ShelfDrives::run_function_step(const PciAddress& /*address*/,
                                    const nvme::PciStepRequest& /*request*/,
                                    Callback<nvme::StepReport> done) {
  refuse(std::move(done));
}
void ShelfDrives::read_enrolment(const PciAddress& /*address*/, Callback<std::string> done) {
  refuse(std::move(done));
}
void ShelfDrives::run_command(const PciAddress& /*address*/, const nvme::Command& /*command*/,
                              std::function<void(nvme::CommandProgress)> /*on_progress*/,
                              Callback<nvme::CommandReport> done) {
  refuse(std::move(done));
}

void ShelfDrives::run_step(const PciAddress& address, const nvme::StepRequest& request,
                           std::function<void(nvme::EraseProgress)> /*on_progress*/,
                           Callback<nvme::StepReport> done) {
  of_claimed(
      address, kCommandMs, std::move(done),
      [step = request.step](Disk& /*it*/) -> Result<nvme::StepReport> {
        return nvme::StepReport{{{std::string(nvme::to_string(step)), "as it should be", false}}};
      });
}

void ShelfDrives::take_baseline(const PciAddress& address, Callback<nvme::Baseline> done) {
  of_claimed(address, kCommandMs, std::move(done), [](Disk& it) -> Result<nvme::Baseline> {
    it.canary = it.content + 1;
    it.host_reads += 2;
    it.host_writes += 1;
    nvme::Baseline baseline;
    baseline.samples.push_back({1, 0, 4096, digest(it.content), false});
    baseline.canaries.push_back({1, 1U << 20U, 4096, digest(it.canary), false});
    return baseline;
  });
}

struct ShelfDrives::Erasing {
  PciAddress address;
  std::uint64_t number = 0;
  nvme::EraseRequest request;
  std::int64_t began_ms = 0;
  std::function<void(nvme::EraseProgress)> on_progress;
  Callback<nvme::EraseEvidence> done;
};

void ShelfDrives::erase(const PciAddress& address, const nvme::EraseRequest& request,
                        std::function<void(nvme::EraseProgress)> on_progress,
                        Callback<nvme::EraseEvidence> done) {
  auto job = std::make_shared<Erasing>();
  job->address = address;
  job->number = ++claims_[address].asked;
  job->request = request;
  job->on_progress = std::move(on_progress);
  job->done = std::move(done);
  timers_.after(kCommandMs, [this, job] {
    job->began_ms = now_ms();
    if (Result<Ok> begun = begin_erase(*job); !begun) return job->done(begun.error());
    poll_erase(job);
  });
}

Result<Ok> ShelfDrives::begin_erase(const Erasing& job) {
  const Claim& claim = claims_[job.address];
  Disk& it = disk(job.address);
  if (job.number <= claim.stopped_upto) return Error{Errc::cancelled, "told to stop"};
  if (!claim.held) return Error{Errc::refused, "it is not claimed"};
  if (it.guest != 0) return Error{Errc::busy, "a guest has it"};
  const std::uint32_t cdw10 = cdw10_of(job.request.method);
  if (job.request.adopt_ours) {
    // Running, or over since our canary was written.
    const bool ours = it.sanitize_cdw10 == cdw10 && (it.sanitize_runs != 0 || it.canary == 0);
    if (ours) return Ok{};
    return Error{Errc::not_found, "no sanitize of ours"};
  }
  if (it.sanitize_runs != 0) return Error{Errc::failed, "a sanitize runs already"};
  if (it.broken != 0) return Error{Errc::failed, "it refuses to sanitize"};
  it.sanitize_cdw10 = cdw10;
  it.sanitize_ends_ms = now_ms() + erase_ms_;
  it.sanitize_runs = 1;
  return Ok{};
}

void ShelfDrives::poll_erase(const std::shared_ptr<Erasing>& job) {
  const Disk& it = disk(job->address);
  if (job->number <= claims_[job->address].stopped_upto) {
    return job->done(Error{Errc::unknown, "told to stop; the sanitize goes on"});
  }
  const std::int64_t left_ms = it.sanitize_ends_ms - now_ms();
  if (it.sanitize_runs != 0) {
    job->on_progress({100.0 - 100.0 * static_cast<double>(left_ms) /
                                  static_cast<double>(std::max<std::int64_t>(erase_ms_, 1)),
                      left_ms / 1'000});
    timers_.after(std::clamp<std::int64_t>(left_ms, 1, kPollMs), [this, job] { poll_erase(job); });
    return;
  }
  nvme::EraseEvidence evidence;
  evidence.method = job->request.method;
  evidence.cdw10 = evidence.scdw10 = it.sanitize_cdw10;
  evidence.sstat = 1;
  evidence.global_data_erased = true;
  evidence.adopted = job->request.adopt_ours;
  evidence.duration_ms = now_ms() - job->began_ms;
  job->done(evidence);
}

void ShelfDrives::verify(const PciAddress& address, const nvme::Baseline& baseline,
                         const nvme::EraseEvidence& /*evidence*/,
                         std::function<void(nvme::EraseProgress)> /*on_progress*/,
                         Callback<nvme::VerifyReport> done) {
  of_claimed(address, kCommandMs, std::move(done),
             [baseline, serial = serial(address)](Disk& it) -> Result<nvme::VerifyReport> {
               nvme::VerifyReport report;
               report.health.push_back({"critical_warning", "none", false});
               const auto read = [&report](const nvme::Sample& sample, std::uint64_t now) {
                 report.samples_read += 1;
                 report.samples_counted += 1;
                 report.bytes_read += sample.length_bytes;
                 return sample.sha256 == digest(now) ? 1U : 0U;
               };
               for (const nvme::Sample& sample : baseline.samples) {
                 report.samples_unchanged += read(sample, it.content);
               }
               for (const nvme::Sample& canary : baseline.canaries) {
                 report.canaries_found += read(canary, it.canary);
               }
               it.host_reads += 2;
               report.capacity_bytes = kBytes;
               report.global_data_erased = true;
               report.counters = counters_of(it);
               report.expectation = "changed";
               report.enrolment = fmt::format("{{\"serial\":\"{}\"}}", serial);
               if (report.samples_unchanged + report.canaries_found > 0 || it.sanitize_runs != 0) {
                 return Error{Errc::failed, "the old content is still there"};
               }
               return report;
             });
}

void ShelfDrives::restore_driver(const PciAddress& address, Callback<Ok> done) {
  of_claimed(address, 0, std::move(done), [](Disk& /*it*/) -> Result<Ok> { return Ok{}; });
}

void ShelfDrives::still_ours(const PciAddress& address, const nvme::Counters& since,
                             Callback<nvme::Counters> done) {
  of_claimed(address, kLookMs, std::move(done), [since](Disk& it) -> Result<nvme::Counters> {
    if (it.host_writes == since.host_writes) return counters_of(it);
    return Error{Errc::refused, "somebody wrote to it since it was verified"};
  });
}

void ShelfDrives::stop(const PciAddress& address) {
  claims_[address].stopped_upto = claims_[address].asked;
}

void ShelfDrives::drop(const PciAddress& address, Once<> done) {
  timers_.after(0, [this, address, done = std::move(done)] {
    claims_[address].held = false;
    done();
  });
}

}  // namespace reclaim::fleet
