// PCI functions that are no drives, as the simulation has them: what holds a tenant's changes is
// the content of the same Drive, and what undoes them is the operator's step that verifies.
#include <array>
#include <utility>

#include "tests/sim/fake_drives.h"

namespace reclaim::sim {
namespace {

constexpr const char* kEnrolment = "as it should be";

}  // namespace

void FakeDrives::claim_function(const nvme::PciClaimRequest& request,
                                Callback<nvme::ClaimReport> done) {
  const PciAddress address = request.address;
  on_thread(address, [this, address, request, done = std::move(done)](std::uint64_t op) mutable {
    if (on_claim) on_claim(address);
    DriveThread& thread = drive_threads_[address];
    const Drive* drive = find(address);
    const auto refuse = [&](Errc code, const char* why) {
      finish(address, [done = std::move(done), code, why] { done(Error{code, why}); });
    };
    if (stopped(address, op)) return refuse(Errc::cancelled, "told to stop");
    if (drive == nullptr || !drive->present) return refuse(Errc::busy, "nothing at this address");
    if (drive->guest != 0) return refuse(Errc::busy, "a guest has it");
    if (drive->guarded) return refuse(Errc::refused, "its interface is up");
    if (thread.claimed) return refuse(Errc::busy, "it is claimed already");
    if (drive->is_nvme()) return refuse(Errc::refused, "it is a drive");
    nvme::ClaimReport report;
    for (const std::string& path : request.commands) {
      const auto command = hardware_.commands.find(path);
      if (command == hardware_.commands.end()) return refuse(Errc::refused, "no such command");
      report.command_digests[path] = command->second;
    }
    if (rng_.chance(faults_.command_fails)) return refuse(Errc::refused, "EBUSY");
    thread.claimed = true;
    thread.broken = thread.restored = false;
    thread.serial = drive->serial;
    thread.proof = Proof{};
    report.findings.push_back(nvme::GuardFinding{"claim", true, "it is held"});
    report.facts.hardware = drive->hardware;
    finish(address, [done = std::move(done), report] { done(report); });
  });
}

void FakeDrives::inspect_function(const nvme::PciClaimRequest& /*request*/,
                                  Callback<std::vector<nvme::GuardFinding>> done) {
  scheduler_.answer(0, [done = std::move(done)] { done(std::vector<nvme::GuardFinding>{}); });
}

void FakeDrives::run_function_step(const PciAddress& address, const nvme::PciStepRequest& request,
                                   Callback<nvme::StepReport> done) {
  on_thread(address, [this, address, request, done = std::move(done)](std::uint64_t op) mutable {
    DriveThread& thread = drive_threads_[address];
    const Drive* drive = find(address);
    const auto refuse = [&](const Error& error) {
      thread.proof.step_failed = thread.proof.step_failed || error.code == Errc::failed;
      finish(address, [done = std::move(done), error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (const auto refused = guard(drive, thread)) return refuse(*refused);
    if (thread.proof.step_failed) on_broken(address, "a step after one that failed");
    if (drive->locked) return refuse(Error{Errc::failed, "rom: changed; write it again"});
    if (rng_.chance(faults_.command_fails)) {
      constexpr std::array kAnswers{Errc::failed, Errc::busy};
      return refuse(Error{kAnswers.at(rng_.below(kAnswers.size())), "no answer"});
    }
    thread.proof.steps.insert(std::string(to_string(request.step)));
    nvme::StepReport report;
    report.findings.push_back({"config", "as enrolled", false});
    finish(address, [done = std::move(done), report] { done(report); });
  });
}

void FakeDrives::read_enrolment(const PciAddress& address, Callback<std::string> done) {
  on_thread(address, [this, address, done = std::move(done)](std::uint64_t op) mutable {
    Result<std::string> answer = std::string(kEnrolment);
    if (stopped(address, op)) {
      answer = cancelled();
    } else if (const auto refused = guard(find(address), drive_threads_[address])) {
      answer = *refused;
    }
    finish(address, [done = std::move(done), answer = std::move(answer)] { done(answer); });
  });
}

}  // namespace reclaim::sim
