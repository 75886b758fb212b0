// The host's drives as a worker sees them that only observes ([reclaim] mode = observe): they are
// looked at, and none is claimed, so that no command that changes anything can be asked for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nvme/drives.h"
#include "state/base/check.h"

namespace reclaim::nvme {

inline constexpr const char* kNothingIsClaimed = "[reclaim] mode = observe: no drive is claimed";

// Thread: the loop's. The drives outlive it.
class ObservedDrives final : public Drives {
 public:
  explicit ObservedDrives(Drives& drives) : drives_(drives) {}

  void discover(const std::set<PciAddress>& others,
                Callback<std::vector<DriveFacts>> done) override {
    drives_.discover(others, std::move(done));
  }
  void find_signatures(const PciAddress& address,
                       Callback<std::vector<std::string>> done) override {
    drives_.find_signatures(address, std::move(done));
  }
  void inspect(const ClaimRequest& request, Callback<std::vector<GuardFinding>> done) override {
    drives_.inspect(request, std::move(done));
  }
  void inspect_function(const PciClaimRequest& request,
                        Callback<std::vector<GuardFinding>> done) override {
    drives_.inspect_function(request, std::move(done));
  }

  // A claim opens the drive exclusively and may take its driver.
  void claim(const ClaimRequest& request, Callback<ClaimReport> done) override {
    drives_.inspect(request, refused(std::move(done)));
  }
  void claim_function(const PciClaimRequest& request, Callback<ClaimReport> done) override {
    drives_.inspect_function(request, refused(std::move(done)));
  }

  // Each needs a claim.
  void run_function_step(const PciAddress& /*address*/, const PciStepRequest& /*request*/,
                         Callback<StepReport> /*done*/) override {
    CHECK(false);
  }
  void read_enrolment(const PciAddress& /*address*/, Callback<std::string> /*done*/) override {
    CHECK(false);
  }
  void run_step(const PciAddress& /*address*/, const StepRequest& /*request*/,
                std::function<void(EraseProgress)> /*on_progress*/,
                Callback<StepReport> /*done*/) override {
    CHECK(false);
  }
  void run_command(const PciAddress& /*address*/, const Command& /*command*/,
                   std::function<void(CommandProgress)> /*on_progress*/,
                   Callback<CommandReport> /*done*/) override {
    CHECK(false);
  }
  void take_baseline(const PciAddress& /*address*/, Callback<Baseline> /*done*/) override {
    CHECK(false);
  }
  void erase(const PciAddress& /*address*/, const EraseRequest& /*request*/,
             std::function<void(EraseProgress)> /*on_progress*/,
             Callback<EraseEvidence> /*done*/) override {
    CHECK(false);
  }
  void verify(const PciAddress& /*address*/, const Baseline& /*baseline*/,
              const EraseEvidence& /*evidence*/, std::function<void(EraseProgress)> /*on_progress*/,
              Callback<VerifyReport> /*done*/) override {
    CHECK(false);
  }
  void restore_driver(const PciAddress& /*address*/, Callback<Ok> /*done*/) override {
    CHECK(false);
  }
  void still_ours(const PciAddress& /*address*/, const Counters& /*since*/,
                  Callback<Counters> /*done*/) override {
    CHECK(false);
  }

  // There is nothing to stop or to drop: nothing runs and nothing is held.
  void stop(const PciAddress& address) override { drives_.stop(address); }
  void drop(const PciAddress& address, Once<> done) override {
    drives_.drop(address, std::move(done));
  }

 private:
  static Callback<std::vector<GuardFinding>> refused(Callback<ClaimReport> done) {
    return [done = std::move(done)](const Result<std::vector<GuardFinding>>& /*found*/) {
      done(Error{Errc::refused, kNothingIsClaimed});
    };
  }

  Drives& drives_;
};

}  // namespace reclaim::nvme
