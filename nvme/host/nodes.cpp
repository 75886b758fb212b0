#include "nvme/host/nodes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>

#include "nvme/controller/admin.h"

namespace reclaim::nvme {

Status check_number(int fd, mode_t type, const std::string& path, const DeviceNumber& wanted) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return Error{Errc::failed, fmt::format("cannot stat {}: {}", path, std::strerror(errno)),
                 errno};
  }
  const DeviceNumber opened{major(info.st_rdev), minor(info.st_rdev)};
  if ((info.st_mode & S_IFMT) == type && opened == wanted) return Ok{};
  return Error{Errc::refused,
               fmt::format("{} is device {}, sysfs says {}; the drive was changed while it was "
                           "looked at, or /dev is not the kernel's",
                           path, to_string(opened), to_string(wanted))};
}

Status check_disk(int fd, const std::string& path, const SysNamespace& wanted) {
  if (auto number = check_number(fd, S_IFBLK, path, wanted.disk.number); !number) return number;
  const auto nsid = namespace_id(fd);
  if (!nsid) return nsid.error().wrap(path);
  if (*nsid == wanted.nsid) return Ok{};
  return Error{Errc::refused,
               fmt::format("{} is namespace {}, sysfs says {}", path, *nsid, wanted.nsid)};
}

Result<UniqueFd> open_controller_node(const Options& options, const SysDrive& sys) {
  const std::string path = options.dev_root + "/" + sys.controller;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const bool passing = errno == EAGAIN || errno == EBUSY || errno == ENODEV || errno == ENXIO;
    return Error{passing ? Errc::busy : Errc::refused,
                 fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno};
  }
  auto number = check_number(fd.get(), S_IFCHR, path, sys.controller_number);
  if (!number) return std::move(number).error();
  return fd;
}

}  // namespace reclaim::nvme
