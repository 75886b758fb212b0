#include "state/ledger/host_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "state/base/log.h"

namespace reclaim {

HostLock::HostLock(int fd) : fd_(fd) {}
HostLock::HostLock(HostLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

HostLock& HostLock::operator=(HostLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

HostLock::~HostLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<HostLock> HostLock::take(const std::string& run_path, const PciAddress& address) {
  const std::string path = fmt::format("{}/{}.lock", run_path, to_string(address));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) {
    return Error{Errc::failed, fmt::format("cannot open {}: {}", path, std::strerror(errno)),
                 errno};
  }
  HostLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    if (code != EWOULDBLOCK) {
      return Error{Errc::failed, fmt::format("cannot lock {}: {}", path, std::strerror(code)),
                   code};
    }
    std::array<char, 32> holder{};
    const ssize_t got = ::pread(fd, holder.data(), holder.size(), 0);
    return Error{
        Errc::busy,
        fmt::format("{} is locked by process {}", path,
                    printable_excerpt({holder.data(), static_cast<std::size_t>(got > 0 ? got : 0)},
                                      holder.size()))};
  }
  const std::string pid = std::to_string(::getpid());
  // Only for the message above: the lock is what counts.
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    return Error{Errc::failed, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                 errno};
  }
  return lock;
}

}  // namespace reclaim
