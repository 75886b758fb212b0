#include "nvme/pci_function.h"

#include "nvme/command/run_command.h"
#include "nvme/host/claim.h"
#include "nvme/host/driver_binding.h"

namespace reclaim::nvme {

DriveFacts PciFunction::facts() const {
  DriveFacts facts = facts_of(claim_.sys());
  facts.namespaces.clear();  // disks of another function are none
  return facts;
}

Result<CommandReport> PciFunction::run_command(
    const Command& command, const std::function<void(CommandProgress)>& on_progress,
    StopFlag& stop) {
  return result_with_driver(claim_, command.driver, [&] {
    return nvme::run_command(command, claim_.options().command, on_progress, stop, clock_, log_);
  });
}

Status PciFunction::restore_driver(StopFlag& stop) {
  if (stop.requested()) return Error{Errc::cancelled, "stopped before the driver was put back"};
  return claim_.put_driver_back();
}

Result<Counters> PciFunction::still_ours(const Counters& since) {
  if (auto ours = claim_.still_ours(); !ours) return std::move(ours).error();
  return since;
}

StepDriver PciFunction::awake() const {
  return on_vfio(claim_.sys()) ? StepDriver{StepDriver::Kind::none, {}} : StepDriver{};
}

Result<StepReport> PciFunction::run_step(const PciStepRequest& request, StopFlag& stop) {
  PciStepRequest asked = request;
  if (asked.step == PciStep::check_rom) asked.driver = awake();
  return run_pci_step(claim_, asked, stop);
}

Result<std::string> PciFunction::enrolment() {
  return pci_enrolment(claim_, awake());
}

}  // namespace reclaim::nvme
