// A claimed PCI function that is no NVMe drive stays where it is: it is kept from guests while it
// is claimed, bound to another driver (or none) while a step runs, and put back. Blocking; thread:
// a drive thread's.
//
// On a vfio driver its group is held (vfio_group.h). Elsewhere there is no group to hold; its
// driver_override is then one that no driver has. So no probe binds it, and whoever gives it to a
// guest has to write another override first (libvirt and driverctl do): that it is still ours shows
// that nobody did. RUN_PATH/ADDRESS.driver remembers what was there before, as for drives.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "nvme/host/driver_override.h"
#include "nvme/host/sysfs.h"
#include "nvme/host/vfio_group.h"
#include "nvme/options.h"
#include "nvme/pci/pci_step.h"
#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim::nvme {

class DriverStay final {
 public:
  // The caller looked at the guards and holds the host's lock on the address. What an earlier
  // worker left of another stay is put back first. Errc::busy: a guest has its group;
  // Errc::refused: it cannot be held; Errc::failed. `log` outlives the object.
  static Result<std::unique_ptr<DriverStay>> create(const Options& options,
                                                    const SysDrive& function, Logger& log);
  // Puts back what was there, unless the host uses the function by now: then it and the note stay
  // for the next worker. Says so in the log when it fails.
  ~DriverStay();
  DriverStay(const DriverStay&) = delete;
  DriverStay& operator=(const DriverStay&) = delete;

  // Binds what a step wants. Errc::failed: it is not bound, and what was is put back by put_back().
  [[nodiscard]] Status use(const StepDriver& wanted);
  // Binds the former driver, verifies it and holds its group again. Errc::refused: it is back, but
  // somebody was faster and has its group, or the host uses the function; Errc::failed: it is not.
  [[nodiscard]] Status put_back();
  // Checks that it is the same device, bound as it was, and that nobody had it meanwhile;
  // Errc::refused otherwise.
  [[nodiscard]] Status still_held() const;

  // The driver that the function is bound to now; empty: none.
  [[nodiscard]] const std::string& driver() const { return now_; }

 private:
  DriverStay(const Options& options, const SysDrive& function, Logger& log);
  [[nodiscard]] Status begin(const SysDrive& function);
  [[nodiscard]] Status untouched() const;
  [[nodiscard]] Status let_go();

  Options options_;
  PciAddress address_;
  std::uint16_t vendor_id_;
  std::uint16_t device_id_;
  ino_t sysfs_inode_;
  Logger& log_;
  FormerDriver former_;
  bool on_vfio_ = false;
  VfioGroup group_;
  std::string now_;       // what it is bound to
  std::string override_;  // its driver_override, as we left it
  bool noted_ = false;
};

}  // namespace reclaim::nvme
