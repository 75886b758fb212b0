// A claimed PCI function that is no NVMe drive, and what is done to it, one thing after the other.
// Thread: the function's own. Owns the claim.
#pragma once

#include <string>
#include <utility>

#include "nvme/claimed.h"
#include "nvme/pci/pci_claim.h"
#include "nvme/pci/pci_steps.h"
#include "state/base/clock.h"
#include "state/base/log.h"

namespace reclaim::nvme {

class PciFunction final : public Claimed {
 public:
  // `clock` and `log` outlive the object.
  PciFunction(PciClaim claim, const Clock& clock, Logger& log)
      : claim_(std::move(claim)), clock_(clock), log_(log) {}

  [[nodiscard]] DriveFacts facts() const override;
  // Bound to what the command asks for while it runs, and to what was there afterwards.
  [[nodiscard]] Result<CommandReport> run_command(
      const Command& command, const std::function<void(CommandProgress)>& on_progress,
      StopFlag& stop) override;
  [[nodiscard]] Status restore_driver(StopFlag& stop) override;
  [[nodiscard]] Result<Counters> still_ours(const Counters& since) override;

  // See Drives::run_function_step and read_enrolment.
  [[nodiscard]] Result<StepReport> run_step(const PciStepRequest& request, StopFlag& stop);
  [[nodiscard]] Result<std::string> enrolment();

 private:
  PciClaim claim_;
  const Clock& clock_;
  Logger& log_;
};

}  // namespace reclaim::nvme
