// The built-in clean steps of a PCI function that is no NVMe drive: each looks at something a
// tenant can have changed, and quarantines the device where that is so. None changes the device but
// the reset. Blocking; thread: a drive thread's.
//
// Errors: Errc::failed: the device has to be quarantined, the text names what was found and what to
// do. Errc::refused or busy: a guard, before anything was changed. Errc::cancelled.
#pragma once

#include <functional>
#include <string>

#include "nvme/controller/facts.h"
#include "nvme/pci/pci_claim.h"
#include "nvme/pci/pci_step.h"
#include "nvme/stop_flag.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// Looks at the guards again, binds what is wanted, works, and puts back what was bound, whatever
// came of the work. A driver that does not come back is an error of its own.
[[nodiscard]] Status with_driver(PciClaim& claim, const StepDriver& driver,
                                 const std::function<Status()>& work);

// `work` returns a Result, which is the outcome.
template <typename Work>
auto result_with_driver(PciClaim& claim, const StepDriver& driver, const Work& work)
    -> decltype(work()) {
  decltype(work()) outcome = Error{Errc::failed, "not begun"};
  const Status done = with_driver(claim, driver, [&work, &outcome]() -> Status {
    outcome = work();
    return outcome ? Status(Ok{}) : Status(outcome.error());
  });
  if (!done) return done.error();
  return outcome;
}

// Runs the step with what it wants bound.
[[nodiscard]] Result<StepReport> run_pci_step(PciClaim& claim, const PciStepRequest& request,
                                              StopFlag& stop);

// The function as it stands, as text (encode_pci_state), read with what `driver` says bound.
// Errc::failed where it cannot be read in full.
[[nodiscard]] Result<std::string> pci_enrolment(PciClaim& claim, const StepDriver& driver);

// The steps themselves, with the function held and bound as it has to be.
//
// Resets it the way that spares others most: as the kernel knows this device wants it, FLR, a way
// through D3hot; the bus only where nothing else is on it. Then it has to answer as before.
[[nodiscard]] Result<StepReport> pci_reset(const PciClaim& claim, const PciStepRequest& request,
                                           StopFlag& stop);
// The checks compare with the baseline. Without one they tell what they see and find nothing wrong
// with it, but for what needs none: a ROM that is not allowed or cannot be read.
[[nodiscard]] Result<StepReport> pci_check_config(const PciClaim& claim,
                                                  const PciStepRequest& request);
[[nodiscard]] Result<StepReport> pci_check_rom(const PciClaim& claim,
                                               const PciStepRequest& request);
[[nodiscard]] Result<StepReport> pci_check_health(const PciClaim& claim,
                                                  const PciStepRequest& request);

}  // namespace reclaim::nvme
