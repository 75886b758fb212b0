// Taking an unmanaged drive (device_spec managed=no) over from vfio-pci or a variant driver to the
// host's nvme driver, and giving it back. Blocking; thread: a drive thread's.
//
// Looking whether a guest has the drive and unbinding it later is a race, so the drive's vfio group
// is opened, and held until the drive is unbound; vfio_group.h says what the kernel does then.
//
// RUN_PATH/ADDRESS.driver remembers the former driver and driver_override from before the first
// change until both are back. /run dies with the boot, as the kernel's state does.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "nvme/host/driver_override.h"
#include "nvme/host/sysfs.h"
#include "nvme/host/vfio_group.h"
#include "nvme/options.h"
#include "state/base/log.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// True if the drive stands on a driver that gives it to guests, vfio-pci or a variant of it.
[[nodiscard]] bool on_vfio(const SysDrive& drive);

class Takeover final {
 public:
  // The drive stands on vfio and nobody has its group open (else Errc::busy), or an earlier worker
  // left it taken over. On success it is bound to nvme; whether its controller comes up is another
  // matter. The caller holds the host's lock on the address. `log` outlives the object.
  static Result<std::unique_ptr<Takeover>> create(const Options& options, const SysDrive& drive,
                                                  Logger& log);
  // Gives back what an earlier worker left taken over; see give_back_drive_left().
  [[nodiscard]] static Status undo(const Options& options, const SysDrive& drive,
                                   const FormerDriver& former, Logger& log);
  // Gives the drive back if that was not done, unless the host uses it by now: then it and the note
  // stay for the next worker. Says so in the log when it fails.
  ~Takeover();
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;

  // Binds the former driver, puts the former override back, verifies both and holds the vfio group
  // from then on. No descriptor of the drive may be open. Errc::refused: it is back, but somebody
  // was faster and has its group; Errc::failed: it is not back.
  [[nodiscard]] Status give_back();
  // Checks, after give_back(), that it is the same device, bound to its former driver, its group
  // ours all the while.
  [[nodiscard]] Status still_held() const;
  // Asks the nvme driver to try once more, after the kernel let go of the drive by itself.
  [[nodiscard]] Status probe_again();

 private:
  Takeover(const Options& options, const SysDrive& drive, Logger& log);
  [[nodiscard]] Status take();
  [[nodiscard]] Status put_back();
  [[nodiscard]] Status same_device() const;

  Options options_;
  PciAddress address_;
  std::uint16_t vendor_id_;
  std::uint16_t device_id_;
  ino_t sysfs_inode_ = 0;  // of the function's folder: a function plugged in anew has another
  Logger& log_;
  FormerDriver former_;
  VfioGroup group_;
  bool taken_ = false;  // the note is written
  bool put_back_ = false;
};

// The drives some worker of this host took over and did not give back.
[[nodiscard]] std::vector<PciAddress> drives_left_taken_over(const Options& options);
// Gives one of them back, unless a worker has it claimed or the host uses it. Every outcome is said
// in the log. Defined in driver_recovery.cpp.
void give_back_drive_left(const Options& options, const PciAddress& address, Logger& log);

// Errc::refused: a guard on the host's own use refuses what a driver of the host has. Waits up to
// `wait_ms` for processes that have a node open, as udev has for a moment after we closed it.
// Defined in driver_recovery.cpp.
[[nodiscard]] Status host_leaves_alone(const Options& options, const PciAddress& address,
                                       std::int64_t wait_ms);

// Resets this one function through sysfs (FLR, or what the kernel has for it).
[[nodiscard]] Status reset_function(const Options& options, const PciAddress& address);

}  // namespace reclaim::nvme
