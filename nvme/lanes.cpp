#include "nvme/lanes.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

#include "nvme/drive.h"
#include "nvme/host/claim.h"
#include "nvme/host/driver_binding.h"
#include "nvme/host/signatures.h"
#include "nvme/job_thread.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kLaneJobsMax = 16;
constexpr std::size_t kScanJobsMax = 256;

Error not_claimed(const PciAddress& address) {
  return Error{Errc::refused, fmt::format("{} is not claimed", to_string(address))};
}

}  // namespace

// One claimed drive, or one whose claim is being asked for. `drive` is touched by its
// thread alone; the rest by the loop's.
struct Lanes::Lane {
  std::unique_ptr<Drive> drive;
  std::optional<DriveFacts> facts;  // of the granted claim, for discovery meanwhile
  bool closing = false;
  std::vector<std::function<void()>> on_closed;
  std::unique_ptr<JobThread> jobs;  // last: its thread uses `drive` and must be joined first
};

Lanes::Lanes(uv_loop_t* loop, Options options, const Clock& clock, Logger& log,
             MayBeAsked may_be_asked)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      mailbox_(loop, [](Message message) { message(); }),
      zero_rate_(std::make_shared<RateLimit>(options_.zero_bytes_per_s_max, clock)),
      discovery_(std::make_unique<Discovery>(options_, clock_, std::move(may_be_asked))),
      scan_(std::make_unique<JobThread>([] {})),
      aside_(std::make_unique<JobThread>([] {})) {}

void Lanes::give_back_drives_left() {
  const auto left = drives_left_taken_over(options_);
  if (left.empty() || recovery_ != nullptr) return;
  recovery_ = std::make_unique<JobThread>([] {});
  for (const PciAddress& address : left) {
    const bool queued = recovery_->submit(
        [this, address](StopFlag& stop) {
          if (!stop.requested()) give_back_drive_left(options_, address, log_);
        },
        left.size());
    CHECK(queued);
  }
  recovery_->finish();
}

Lanes::~Lanes() {
  // All are told before the first is waited for.
  for (auto& [address, lane] : lanes_) lane->jobs->stop_all();
  scan_->stop_all();
  aside_->stop_all();
  if (recovery_ != nullptr) recovery_->stop_all();
  lanes_.clear();
  scan_.reset();
  aside_.reset();
  recovery_.reset();
}

template <typename T>
void Lanes::fail_later(Callback<T> done, Error error) {
  mailbox_.post([done = std::move(done), error = std::move(error)] { done(error); });
}

Lanes::Lane* Lanes::usable(const PciAddress& address) {
  const auto found = lanes_.find(address);
  return found == lanes_.end() || found->second->closing ? nullptr : found->second.get();
}

void Lanes::find_signatures(const PciAddress& address, Callback<std::vector<std::string>> done) {
  if (lanes_.count(address) != 0) {
    return fail_later(std::move(done),
                      Error{Errc::busy, fmt::format("{} is claimed", to_string(address))});
  }
  auto job = [this, address, done](StopFlag& stop) {
    auto found = nvme::find_signatures(options_, address, stop);
    mailbox_.post([done, found = std::move(found)]() mutable { done(std::move(found)); });
  };
  if (!aside_->submit(std::move(job), kScanJobsMax)) {
    fail_later(std::move(done), Error{Errc::limit, "too many looks at the drives are waiting"});
  }
}

void Lanes::discover(const std::set<PciAddress>& others, Callback<std::vector<DriveFacts>> done) {
  // Drives in a lane are not opened again; what their claim learnt is told instead.
  std::map<PciAddress, std::optional<DriveFacts>> busy;
  for (const auto& [address, lane] : lanes_) busy.emplace(address, lane->facts);
  auto job = [this, busy = std::move(busy), others, done](StopFlag& stop) {
    auto answer = discovery_->look(busy, others, stop);
    mailbox_.post([done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
  };
  if (!scan_->submit(std::move(job), kScanJobsMax)) {
    fail_later(std::move(done), Error{Errc::limit, "too many looks at the drives are waiting"});
  }
}

void Lanes::inspect(const ClaimRequest& request, Callback<std::vector<GuardFinding>> done) {
  const bool busy = lanes_.count(request.address) != 0;
  auto job = [this, request, busy, done](StopFlag& /*stop*/) {
    auto findings = inspect_drive(options_, request, !busy);
    mailbox_.post([done, findings = std::move(findings)]() mutable { done(std::move(findings)); });
  };
  if (!aside_->submit(std::move(job), kScanJobsMax)) {
    fail_later(std::move(done), Error{Errc::limit, "too many looks at the drives are waiting"});
  }
}

void Lanes::claim(const ClaimRequest& request, Callback<ClaimReport> done) {
  const PciAddress address = request.address;
  if (lanes_.count(address) != 0) {
    return fail_later(std::move(done),
                      Error{Errc::busy, fmt::format("{} is claimed already", to_string(address))});
  }
  if (lanes_.size() >= options_.lanes_max) {
    return fail_later(std::move(done),
                      Error{Errc::busy, fmt::format("{} drives are being worked on, as many as "
                                                    "are allowed at a time",
                                                    lanes_.size())});
  }
  auto owned = std::make_unique<Lane>();
  Lane* lane = owned.get();
  lane->jobs = std::make_unique<JobThread>([this, lane, address] {
    // The last close is on the lane's own thread, and before anybody hears of it.
    lane->drive.reset();
    mailbox_.post([this, address] { ended(address); });
  });
  lanes_.emplace(address, std::move(owned));
  const bool queued = lane->jobs->submit(
      [this, lane, address, request, done = std::move(done)](StopFlag& stop) {
        Result<ClaimReport> answer = Error{Errc::cancelled, "stopped before the drive was claimed"};
        if (!stop.requested()) {
          std::vector<GuardFinding> findings;
          auto claim = Claim::create(options_, request, &findings, stop, log_);
          if (claim) {
            lane->drive =
                std::make_unique<Drive>(options_, *std::move(claim), clock_, log_, zero_rate_);
            answer = ClaimReport{std::move(findings), lane->drive->facts()};
          } else {
            answer = claim.error();
          }
        }
        mailbox_.post([this, address, done, answer = std::move(answer)]() mutable {
          const auto found = lanes_.find(address);
          CHECK(found != lanes_.end());
          if (answer) found->second->facts = answer->facts;
          if (!answer) close(*found->second);
          done(std::move(answer));
        });
      },
      kLaneJobsMax);
  CHECK(queued);
}

// Runs `work(Drive&, StopFlag&)` on the drive's lane and brings its Result<T> back.
template <typename T, typename Work>
void Lanes::on_lane(const PciAddress& address, Callback<T> done, Work work) {
  Lane* lane = usable(address);
  if (lane == nullptr) return fail_later(std::move(done), not_claimed(address));
  const bool queued = lane->jobs->submit(
      [this, lane, address, done, work = std::move(work)](StopFlag& stop) {
        Result<T> answer = not_claimed(address);
        if (lane->drive != nullptr && stop.requested()) {
          answer = Error{Errc::cancelled, "stopped before it began"};
        } else if (lane->drive != nullptr) {
          answer = work(*lane->drive, stop);
        }
        mailbox_.post([done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
      },
      kLaneJobsMax);
  if (!queued) {
    fail_later(std::move(done), Error{Errc::limit, fmt::format("{} jobs wait for {} already",
                                                               kLaneJobsMax, to_string(address))});
  }
}

void Lanes::run_step(const PciAddress& address, const StepRequest& request,
                     std::function<void(EraseProgress)> on_progress, Callback<StepReport> done) {
  auto report = [this, on_progress = std::move(on_progress)](EraseProgress progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  on_lane(address, std::move(done),
          [request, report = std::move(report)](Drive& drive, StopFlag& stop) {
            return drive.run_step(request, report, stop);
          });
}

void Lanes::take_baseline(const PciAddress& address, Callback<Baseline> done) {
  on_lane(address, std::move(done),
          [](Drive& drive, StopFlag& stop) { return drive.take_baseline(stop); });
}

void Lanes::erase(const PciAddress& address, const EraseRequest& request,
                  std::function<void(EraseProgress)> on_progress, Callback<EraseEvidence> done) {
  auto report = [this, on_progress = std::move(on_progress)](EraseProgress progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  on_lane(address, std::move(done),
          [request, report = std::move(report)](Drive& drive, StopFlag& stop) {
            return drive.erase(request, report, stop);
          });
}

void Lanes::verify(const PciAddress& address, const Baseline& baseline,
                   const EraseEvidence& evidence, std::function<void(EraseProgress)> on_progress,
                   Callback<VerifyReport> done) {
  auto report = [this, on_progress = std::move(on_progress)](EraseProgress progress) {
    mailbox_.post([on_progress, progress] { on_progress(progress); });
  };
  on_lane(address, std::move(done),
          [baseline, evidence, report = std::move(report)](Drive& drive, StopFlag& stop) {
            return drive.verify(baseline, evidence, report, stop);
          });
}

void Lanes::restore_driver(const PciAddress& address, Callback<Ok> done) {
  on_lane(address, std::move(done),
          [](Drive& drive, StopFlag& stop) { return drive.restore_driver(stop); });
}

void Lanes::still_ours(const PciAddress& address, const Counters& since, Callback<Counters> done) {
  on_lane(address, std::move(done),
          [since](Drive& drive, StopFlag& /*stop*/) { return drive.still_ours(since); });
}

void Lanes::stop(const PciAddress& address) {
  if (Lane* lane = usable(address)) lane->jobs->stop_all();
}

void Lanes::drop(const PciAddress& address, std::function<void()> done) {
  const auto found = lanes_.find(address);
  if (found == lanes_.end()) return mailbox_.post(std::move(done));
  found->second->on_closed.push_back(std::move(done));
  close(*found->second);
}

void Lanes::close(Lane& lane) {
  if (lane.closing) return;
  lane.closing = true;
  lane.jobs->stop_all();
  lane.jobs->finish();
}

// The lane's thread has posted its last message and is about to return: joining it does not block.
void Lanes::ended(const PciAddress& address) {
  const auto found = lanes_.find(address);
  CHECK(found != lanes_.end());
  const std::unique_ptr<Lane> lane = std::move(found->second);
  lanes_.erase(found);
  lane->jobs.reset();
  for (const std::function<void()>& done : lane->on_closed) done();
}

}  // namespace reclaim::nvme
