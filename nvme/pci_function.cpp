#include "nvme/pci_function.h"

#include "nvme/command/run_command.h"
#include "nvme/host/driver_binding.h"

namespace reclaim::nvme {

DriveFacts PciFunction::facts() const {
  const SysDrive& sys = claim_.sys();
  DriveFacts facts;
  facts.address = sys.address;
  facts.vendor_id = sys.vendor_id;
  facts.device_id = sys.device_id;
  facts.class_code = sys.class_code;
  facts.driver = sys.driver;
  facts.iommu_group = sys.iommu_group;
  facts.sriov_vfs_enabled = sys.sriov_vfs_enabled;
  facts.hardware = sys.hardware;
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
