// reclaim doctor: what a worker in a container has to be given of the host (docs/install.md). On
// the host itself all of it is there.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "cli/doctor_checks.h"
#include "nvme/host/guards.h"

namespace reclaim::cli {

void check_container(const nvme::Options& options, Chart& chart) {
  const nvme::ClaimRequest request;
  const nvme::SysDrive drive;
  const nvme::GuardFinding seen = nvme::guard_process_view({options, request, drive}).finding;
  if (seen.passed) {
    chart.ok("processes", seen.detail);
  } else {
    chart.error("processes", seen.detail, "start the container with --pid=host");
  }
  const std::string drivers = options.sysfs_root + "/bus/pci";
  if (access(drivers.c_str(), W_OK) != 0 && errno == EROFS) {
    chart.error("sysfs", drivers + " is mounted read only: no driver can be bound",
                "start the container with --privileged; on a host, remove ProtectKernelTunables= "
                "from the unit");
  }
}

}  // namespace reclaim::cli
