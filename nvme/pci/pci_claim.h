// A claim on a PCI function that is no NVMe drive: the host's lock on its address, all guards, and
// what keeps guests off it (driver_stay.h), for as long as the object lives. Nothing of the
// function is opened: what works on it are the steps (pci_steps.h) and an operator's commands.
// Blocking; thread: a drive thread's. Owns the lock and the vfio group.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "nvme/pci/config_space.h"
#include "nvme/pci/driver_stay.h"
#include "nvme/pci/pci_guards.h"
#include "nvme/pci/pci_step.h"
#include "nvme/stop_flag.h"
#include "state/base/log.h"
#include "state/base/result.h"
#include "state/ledger/host_lock.h"

namespace reclaim::nvme {

class PciClaim final {
 public:
  // Looks at the guards in order. The error of a refusal names the guard; `findings`, if given, is
  // filled up to and including it. Waits a while for processes that have a node of it open. Errc as
  // Drives::claim. `log` outlives the object.
  static Result<PciClaim> create(const Options& options, const PciClaimRequest& request,
                                 std::vector<GuardFinding>* findings, StopFlag& stop, Logger& log);

  // Looks again at all that can have changed since: the guards, and that it is the same device.
  // Errc::refused or busy: a guard.
  [[nodiscard]] Status recheck() const;

  // Binds what a step wants, and puts back what was bound; see DriverStay.
  [[nodiscard]] Status use_driver(const StepDriver& wanted) { return stay_->use(wanted); }
  [[nodiscard]] Status put_driver_back() { return stay_->put_back(); }

  // Checks that it is the same device, bound as it was when it was claimed, and that nobody had it
  // meanwhile. Errc::refused otherwise.
  [[nodiscard]] Status still_ours() const;

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const PciAddress& address() const { return request_.address; }
  // The function as it was found: ids, class, driver, hardware.
  [[nodiscard]] const SysDrive& sys() const { return sys_; }

 private:
  PciClaim(Options options, PciClaimRequest request)
      : options_(std::move(options)), request_(std::move(request)) {}
  [[nodiscard]] Status look(std::vector<GuardFinding>& findings, StopFlag& stop);
  [[nodiscard]] Status take(std::vector<GuardFinding>& findings, Logger& log);
  [[nodiscard]] Status same_device() const;

  Options options_;
  PciClaimRequest request_;
  SysDrive sys_;
  ConfigSpace space_;  // what it is, as it says itself
  // The lock is the first of what is taken, the last of what is let go.
  std::optional<HostLock> lock_;
  std::unique_ptr<DriverStay> stay_;
};

// Every guard, refused or not; claims nothing.
[[nodiscard]] Result<std::vector<GuardFinding>> inspect_function(const Options& options,
                                                                 const PciClaimRequest& request);

}  // namespace reclaim::nvme
