#include "nvme/drive_threads.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

#include "nvme/command/file.h"
#include "nvme/drive.h"
#include "nvme/host/claim.h"
#include "nvme/host/driver_binding.h"
#include "nvme/host/signatures.h"
#include "nvme/job_thread.h"
#include "nvme/pci_function.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kThreadJobsMax = 16;
constexpr std::size_t kScanJobsMax = 256;

Error not_claimed(const PciAddress& address) {
  return Error{Errc::refused, fmt::format("{} is not claimed", to_string(address))};
}

Error too_many_looks() {
  return Error{Errc::limit, "too many looks at the drives are waiting"};
}

}  // namespace

// One claimed device, or one whose claim is being asked for. `claimed`, and whichever of the two it
// is, are touched by its thread alone; the rest by the loop's.
struct DriveThreads::DriveThread {
  std::unique_ptr<Claimed> claimed;
  Drive* drive = nullptr;           // it is one
  PciFunction* function = nullptr;  // it is none
  std::optional<DriveFacts> facts;  // of the granted claim, for discovery meanwhile
  bool closing = false;
  std::vector<Once<>> on_closed;
  std::unique_ptr<JobThread> jobs;  // last: its thread uses `claimed` and must be joined first
};

DriveThreads::DriveThreads(uv_loop_t* loop, Options options, const Clock& clock, Logger& log,
                           MayBeAsked may_be_asked)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      mailbox_(loop, [](Message message) { message(); }),
      host_rate_(std::make_shared<RateLimit>(options_.zero_bytes_per_s_max, clock)),
      discovery_(std::make_unique<Discovery>(options_, clock_, std::move(may_be_asked))),
      scan_(std::make_unique<JobThread>([] {})),
      aside_(std::make_unique<JobThread>([] {})) {}

void DriveThreads::replace_may_be_asked(MayBeAsked may_be_asked) {
  scan_->submit([this, may_be_asked = std::move(may_be_asked)](StopFlag& /*stop*/) {
    discovery_->replace_may_be_asked(may_be_asked);
  });
}

void DriveThreads::give_back_drives_left() {
  const auto left = drives_left_taken_over(options_);
  if (left.empty() || recovery_ != nullptr) return;
  recovery_ = std::make_unique<JobThread>([] {});
  for (const PciAddress& address : left) {
    recovery_->submit([this, address](StopFlag& stop) {
      if (!stop.requested()) give_back_drive_left(options_, address, log_);
    });
  }
  recovery_->finish();
}

DriveThreads::~DriveThreads() {
  // All are told before the first is waited for.
  for (auto& [address, thread] : drive_threads_) thread->jobs->stop_all();
  scan_->stop_all();
  aside_->stop_all();
  if (recovery_ != nullptr) recovery_->stop_all();
  drive_threads_.clear();
  scan_.reset();
  aside_.reset();
  recovery_.reset();
}

template <typename T>
void DriveThreads::fail_later(Callback<T> done, Error error) {
  mailbox_.post([done = std::move(done), error = std::move(error)] { done(error); });
}

DriveThreads::DriveThread* DriveThreads::usable(const PciAddress& address) {
  const auto found = drive_threads_.find(address);
  return found == drive_threads_.end() || found->second->closing ? nullptr : found->second.get();
}

// Runs `work(StopFlag&)` on the thread and brings its Result<T> back; `full`: too much waits there.
template <typename T, typename Work>
void DriveThreads::on_thread(JobThread& thread, std::size_t jobs_max, Error full, Callback<T> done,
                             Work work) {
  if (!thread.has_room(jobs_max)) return fail_later(std::move(done), std::move(full));
  thread.submit([this, done = std::move(done), work = std::move(work)](StopFlag& stop) mutable {
    Result<T> answer = work(stop);
    mailbox_.post([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  });
}

void DriveThreads::find_signatures(const PciAddress& address,
                                   Callback<std::vector<std::string>> done) {
  if (drive_threads_.count(address) != 0) {
    return fail_later(std::move(done),
                      Error{Errc::busy, fmt::format("{} is claimed", to_string(address))});
  }
  on_thread(
      *aside_, kScanJobsMax, too_many_looks(), std::move(done),
      [this, address](StopFlag& stop) { return nvme::find_signatures(options_, address, stop); });
}

void DriveThreads::discover(const std::set<PciAddress>& others,
                            Callback<std::vector<DriveFacts>> done) {
  // Drives in a drive thread are not opened again; what their claim learnt is told instead.
  std::map<PciAddress, std::optional<DriveFacts>> busy;
  for (const auto& [address, thread] : drive_threads_) busy.emplace(address, thread->facts);
  on_thread(*scan_, kScanJobsMax, too_many_looks(), std::move(done),
            [this, busy = std::move(busy), others](StopFlag& stop) {
              return discovery_->look(busy, others, stop);
            });
}

void DriveThreads::inspect(const ClaimRequest& request, Callback<std::vector<GuardFinding>> done) {
  const bool busy = drive_threads_.count(request.address) != 0;
  on_thread(*aside_, kScanJobsMax, too_many_looks(), std::move(done),
            [this, request, busy](StopFlag& /*stop*/) {
              auto findings = inspect_drive(options_, request, !busy);
              if (findings) look_at_commands(request.commands, *findings);
              return findings;
            });
}

void DriveThreads::inspect_function(const PciClaimRequest& request,
                                    Callback<std::vector<GuardFinding>> done) {
  on_thread(*aside_, kScanJobsMax, too_many_looks(), std::move(done),
            [this, request](StopFlag& /*stop*/) {
              auto findings = nvme::inspect_function(options_, request);
              if (findings) look_at_commands(request.commands, *findings);
              return findings;
            });
}

// Each, acceptable or not.
void DriveThreads::look_at_commands(const std::vector<std::string>& commands,
                                    std::vector<GuardFinding>& findings) const {
  for (const std::string& path : commands) {
    (void)digests_of_commands(options_.command, {path}, findings);
  }
}

void DriveThreads::claim(const ClaimRequest& request, Callback<ClaimReport> done) {
  claim_with(request.address, request.commands, std::move(done),
             [this, request](DriveThread& thread, std::vector<GuardFinding>& findings,
                             StopFlag& stop) -> Status {
               auto claim = Claim::create(options_, request, &findings, stop, log_);
               if (!claim) return claim.error();
               auto drive =
                   std::make_unique<Drive>(options_, *std::move(claim), clock_, log_, host_rate_);
               thread.drive = drive.get();
               thread.claimed = std::move(drive);
               return Ok{};
             });
}

void DriveThreads::claim_function(const PciClaimRequest& request, Callback<ClaimReport> done) {
  claim_with(request.address, request.commands, std::move(done),
             [this, request](DriveThread& thread, std::vector<GuardFinding>& findings,
                             StopFlag& stop) -> Status {
               auto claim = PciClaim::create(options_, request, &findings, stop, log_);
               if (!claim) return claim.error();
               auto function = std::make_unique<PciFunction>(*std::move(claim), clock_, log_);
               thread.function = function.get();
               thread.claimed = std::move(function);
               return Ok{};
             });
}

// `make(DriveThread&, findings, StopFlag&)` claims it, on a thread of its own, once the commands
// were found acceptable.
template <typename Make>
void DriveThreads::claim_with(const PciAddress& address, const std::vector<std::string>& commands,
                              Callback<ClaimReport> done, Make make) {
  if (drive_threads_.count(address) != 0) {
    return fail_later(std::move(done),
                      Error{Errc::busy, fmt::format("{} is claimed already", to_string(address))});
  }
  if (drive_threads_.size() >= options_.threads_max) {
    return fail_later(std::move(done),
                      Error{Errc::busy, fmt::format("{} drives are being worked on, as many as "
                                                    "are allowed at a time",
                                                    drive_threads_.size())});
  }
  auto owned = std::make_unique<DriveThread>();
  DriveThread* thread = owned.get();
  thread->jobs = std::make_unique<JobThread>([this, thread, address] {
    // The last close is on that thread, and before anybody hears of it.
    thread->claimed.reset();
    mailbox_.post([this, address] { ended(address); });
  });
  drive_threads_.emplace(address, std::move(owned));
  thread->jobs->submit([this, thread, address, commands, make = std::move(make),
                        done = std::move(done)](StopFlag& stop) mutable {
    Result<ClaimReport> answer = Error{Errc::cancelled, "stopped before it was claimed"};
    if (!stop.requested()) {
      std::vector<GuardFinding> findings;
      std::vector<GuardFinding> of_commands;
      auto digests = digests_of_commands(options_.command, commands, of_commands);
      const Status claimed = digests ? make(*thread, findings, stop) : Status(digests.error());
      if (claimed) {
        findings.insert(findings.end(), of_commands.begin(), of_commands.end());
        answer = ClaimReport{std::move(findings), thread->claimed->facts(), *std::move(digests)};
      } else {
        answer = claimed.error();
      }
    }
    mailbox_.post([this, address, done = std::move(done), answer = std::move(answer)]() mutable {
      const auto found = drive_threads_.find(address);
      CHECK(found != drive_threads_.end());
      if (answer) found->second->facts = answer->facts;
      if (!answer) close(*found->second);
      done(std::move(answer));
    });
  });
}

// Runs `work(Target&, StopFlag&)` on the thread of what is claimed as `member` of it, and brings
// its Result<T> back.
template <typename T, typename Member, typename Work>
void DriveThreads::on_thread(const PciAddress& address, Member member, Callback<T> done,
                             Work work) {
  DriveThread* thread = usable(address);
  if (thread == nullptr) return fail_later(std::move(done), not_claimed(address));
  Error full{Errc::limit,
             fmt::format("{} jobs wait for {} already", kThreadJobsMax, to_string(address))};
  on_thread(*thread->jobs, kThreadJobsMax, std::move(full), std::move(done),
            [thread, address, member, work = std::move(work)](StopFlag& stop) -> Result<T> {
              auto& target = thread->*member;
              if (target == nullptr) return not_claimed(address);
              if (stop.requested()) return Error{Errc::cancelled, "stopped before it began"};
              return work(*target, stop);
            });
}

void DriveThreads::run_function_step(const PciAddress& address, const PciStepRequest& request,
                                     Callback<StepReport> done) {
  on_thread(address, &DriveThread::function, std::move(done),
            [request](PciFunction& function, StopFlag& stop) {
              return function.run_step(request, stop);
            });
}

void DriveThreads::read_enrolment(const PciAddress& address, Callback<std::string> done) {
  on_thread(address, &DriveThread::function, std::move(done),
            [](PciFunction& function, StopFlag& /*stop*/) { return function.enrolment(); });
}

void DriveThreads::run_step(const PciAddress& address, const StepRequest& request,
                            std::function<void(EraseProgress)> on_progress,
                            Callback<StepReport> done) {
  auto report = [this, on_progress = std::move(on_progress)](EraseProgress progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  on_thread(address, &DriveThread::drive, std::move(done),
            [request, report = std::move(report)](Drive& drive, StopFlag& stop) {
              return drive.run_step(request, report, stop);
            });
}

void DriveThreads::run_command(const PciAddress& address, const Command& command,
                               std::function<void(CommandProgress)> on_progress,
                               Callback<CommandReport> done) {
  auto report = [this, on_progress = std::move(on_progress)](const CommandProgress& progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  on_thread(address, &DriveThread::claimed, std::move(done),
            [command, report = std::move(report)](Claimed& claimed, StopFlag& stop) {
              return claimed.run_command(command, report, stop);
            });
}

void DriveThreads::take_baseline(const PciAddress& address, Callback<Baseline> done) {
  on_thread(address, &DriveThread::drive, std::move(done),
            [](Drive& drive, StopFlag& stop) { return drive.take_baseline(stop); });
}

void DriveThreads::erase(const PciAddress& address, const EraseRequest& request,
                         std::function<void(EraseProgress)> on_progress,
                         Callback<EraseEvidence> done) {
  auto report = [this, on_progress = std::move(on_progress)](EraseProgress progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  EraseRequest posting = request;
  if (request.on_mark) {
    posting.on_mark = [this, on_mark = request.on_mark](const std::string& mark) {
      mailbox_.post([on_mark, mark] { on_mark(mark); });
    };
  }
  on_thread(address, &DriveThread::drive, std::move(done),
            [request = std::move(posting), report = std::move(report)](
                Drive& drive, StopFlag& stop) { return drive.erase(request, report, stop); });
}

void DriveThreads::verify(const PciAddress& address, const Baseline& baseline,
                          const EraseEvidence& evidence,
                          std::function<void(EraseProgress)> on_progress,
                          Callback<VerifyReport> done) {
  auto report = [this, on_progress = std::move(on_progress)](EraseProgress progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  on_thread(address, &DriveThread::drive, std::move(done),
            [baseline, evidence, report = std::move(report)](Drive& drive, StopFlag& stop) {
              return drive.verify(baseline, evidence, report, stop);
            });
}

void DriveThreads::restore_driver(const PciAddress& address, Callback<Ok> done) {
  on_thread(address, &DriveThread::claimed, std::move(done),
            [](Claimed& claimed, StopFlag& stop) { return claimed.restore_driver(stop); });
}

void DriveThreads::still_ours(const PciAddress& address, const Counters& since,
                              Callback<Counters> done) {
  on_thread(address, &DriveThread::claimed, std::move(done),
            [since](Claimed& claimed, StopFlag& /*stop*/) { return claimed.still_ours(since); });
}

void DriveThreads::stop(const PciAddress& address) {
  if (DriveThread* thread = usable(address)) thread->jobs->stop_all();
}

void DriveThreads::drop(const PciAddress& address, Once<> done) {
  const auto found = drive_threads_.find(address);
  if (found == drive_threads_.end()) return mailbox_.post(std::move(done));
  found->second->on_closed.push_back(std::move(done));
  close(*found->second);
}

void DriveThreads::close(DriveThread& thread) {
  if (thread.closing) return;
  thread.closing = true;
  thread.jobs->stop_all();
  thread.jobs->finish();
}

// The thread has posted its last message and is about to return: joining it does not
// block.
void DriveThreads::ended(const PciAddress& address) {
  const auto found = drive_threads_.find(address);
  CHECK(found != drive_threads_.end());
  const std::unique_ptr<DriveThread> thread = std::move(found->second);
  drive_threads_.erase(found);
  thread->jobs.reset();
  for (const Once<>& done : thread->on_closed) done();
}

}  // namespace reclaim::nvme
