// A claimed drive and what is done to it, one thing after the other: clean steps, baseline, erase,
// verification. Every method blocks; they end early when their StopFlag says so. Thread: the
// drive's. Owns the claim.
#pragma once

#include <memory>

#include "nvme/claimed.h"
#include "nvme/drive_context.h"

namespace reclaim::nvme {

class Drive final : public Claimed {
 public:
  Drive(Options options, Claim claim, const Clock& clock, Logger& log,
        std::shared_ptr<RateLimit> host_rate = nullptr)
      : context_{std::move(options), std::move(claim), clock, log, std::move(host_rate)} {}

  [[nodiscard]] const Claim& claim() const { return context_.claim; }
  // Counters included.
  [[nodiscard]] DriveFacts facts() const override;

  // See Drives::run_step (clean_steps.h).
  [[nodiscard]] Result<StepReport> run_step(const StepRequest& request,
                                            const ReportProgress& on_progress, StopFlag& stop);
  [[nodiscard]] Result<CommandReport> run_command(
      const Command& command, const std::function<void(CommandProgress)>& on_progress,
      StopFlag& stop) override;
  // See clean_steps.h.
  [[nodiscard]] Result<std::string> enrolment() const;
  // See baseline.h.
  [[nodiscard]] Result<Baseline> take_baseline(StopFlag& stop);
  // See Drives::erase (erase/erase.h).
  [[nodiscard]] Result<EraseEvidence> erase(const EraseRequest& request,
                                            const ReportProgress& on_progress, StopFlag& stop);
  // See Drives::verify (verification.h).
  [[nodiscard]] Result<VerifyReport> verify(const Baseline& baseline, const EraseEvidence& evidence,
                                            const ReportProgress& on_progress, StopFlag& stop);
  [[nodiscard]] Status restore_driver(StopFlag& stop) override;
  // Global Data Erased must still be set, too, where verification relied on it.
  [[nodiscard]] Result<Counters> still_ours(const Counters& since) override;

 private:
  DriveContext context_;
  bool relies_on_global_data_erased_ = true;  // of the last verification
};

}  // namespace reclaim::nvme
