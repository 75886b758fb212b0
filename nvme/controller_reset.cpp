#include "nvme/controller_reset.h"

#include <fmt/core.h>

#include "nvme/firmware/update.h"
#include "nvme/host/sysfs.h"

namespace reclaim::nvme {

Status reset_and_wait(const DriveContext& drive, StopFlag& stop) {
  if (auto begun = reset_controller(drive.claim.controller_fd()); !begun) {
    return Error{Errc::failed, begun.error().what, begun.error().raw};
  }
  for (std::int64_t waited = 0;; waited += drive.options.driver_poll_ms) {
    const auto sys = read_drive(drive.options.sysfs_root, drive.claim.sys().address);
    if (sys && sys->controller_state == "live") return Ok{};
    if (sys && sys->controller_state == "dead") {
      return Error{Errc::failed, "its controller is dead"};
    }
    if (waited >= drive.options.driver_wait_ms) {
      return Error{Errc::failed, fmt::format("its controller is not live after {} ms", waited)};
    }
    if (stop.wait(drive.options.driver_poll_ms)) {
      return Error{Errc::cancelled, "stopped while the drive was reset"};
    }
  }
}

}  // namespace reclaim::nvme
