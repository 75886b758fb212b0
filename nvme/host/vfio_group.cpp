#include "nvme/host/vfio_group.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "nvme/host/sysfs.h"
#include "nvme/stop_flag.h"

namespace reclaim::nvme {

Status VfioGroup::hold(const Options& options, const PciAddress& address, std::string_view thing) {
  const auto drive = read_drive(options.sysfs_root, address);
  if (!drive) return drive.error();
  fd_.reset();
  int number = ENOENT;
  if (drive->iommu_group >= 0) {
    for (const char* kind : {"", "noiommu-"}) {
      path_ = fmt::format("{}/vfio/{}{}", options.dev_root, kind, drive->iommu_group);
      fd_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
      if (fd_.valid()) return Ok{};
      number = errno;
      if (number != ENOENT) break;
    }
  }
  if (number == EBUSY) {
    return Error{Errc::busy,
                 fmt::format("{} is open; a guest still has the {} or another of its IOMMU group",
                             path_, thing),
                 EBUSY};
  }
  return Error{Errc::refused,
               fmt::format("cannot open the vfio group of {} (IOMMU group {}): {}; without it the "
                           "{} cannot be kept from others while its driver changes (a kernel "
                           "without CONFIG_VFIO_GROUP does not have it)",
                           to_string(address), drive->iommu_group, std::strerror(number), thing),
               number};
}

Status VfioGroup::hold_again(const Options& options, const PciAddress& address,
                             std::string_view thing) {
  if (ours()) return Ok{};
  for (std::int64_t waited = 0;; waited += options.driver_poll_ms) {
    auto held = hold(options, address, thing);
    if (held) return held;
    if (held.error().code == Errc::busy) {
      return Error{Errc::refused, fmt::format("{}; another process had it before it was released",
                                              held.error().what)};
    }
    if (waited >= options.driver_wait_ms) return Error{Errc::failed, held.error().what};
    StopFlag never_raised;
    (void)never_raised.wait(options.driver_poll_ms);
  }
}

bool VfioGroup::ours() const {
  struct stat held {};
  struct stat there {};
  return fd_.valid() && ::fstat(fd_.get(), &held) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

}  // namespace reclaim::nvme
