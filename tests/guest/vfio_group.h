// A process that holds a vfio group, as a guest's QEMU does: a child, so that the guards see a
// stranger.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/vfio.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "state/base/unique_fd.h"

namespace reclaim::guest {

inline std::string group_path(int group) {
  return fmt::format("/dev/vfio/{}", group);
}

// Opens the group; errno in `error` when that fails.
inline UniqueFd open_group(int group, int* error = nullptr) {
  UniqueFd fd(::open(group_path(group).c_str(), O_RDWR | O_CLOEXEC));
  if (error != nullptr) *error = fd.valid() ? 0 : errno;
  return fd;
}

// The descriptor of a function in an open group, with an IOMMU domain of its own; -1: errno.
inline int open_device(int container, int group, const char* address) {
  if (::ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) != 0) return -1;
  if (::ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0) return -1;
  return ::ioctl(group, VFIO_GROUP_GET_DEVICE_FD, address);
}

class Holder final {
 public:
  // `device`: also opens the function itself, as a running guest has it.
  Holder(int group, const char* address, bool device) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const UniqueFd fd = open_group(group);
      const UniqueFd container(::open("/dev/vfio/vfio", O_RDWR));
      const bool ok =
          fd.valid() && (!device || open_device(container.get(), fd.get(), address) >= 0);
      const char say = ok ? 'y' : 'n';
      if (::write(ready[1], &say, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char said = 'n';
    holds_ = ::read(ready[0], &said, 1) == 1 && said == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() { end(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  [[nodiscard]] bool holds() const { return holds_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool holds_ = false;
};

}  // namespace reclaim::guest
