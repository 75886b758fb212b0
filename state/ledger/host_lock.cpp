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

Result<HostLock> HostLock::take(const std::string& run_path, const PciAddress& address) {
  const std::string path = fmt::format("{}/{}.lock", run_path, to_string(address));
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!fd.valid()) {
    return Error{Errc::failed, fmt::format("cannot open {}: {}", path, std::strerror(errno)),
                 errno};
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    if (code != EWOULDBLOCK) {
      return Error{Errc::failed, fmt::format("cannot lock {}: {}", path, std::strerror(code)),
                   code};
    }
    std::array<char, 32> holder{};
    const ssize_t got = ::pread(fd.get(), holder.data(), holder.size(), 0);
    return Error{
        Errc::busy,
        fmt::format("{} is locked by process {}", path,
                    printable_excerpt({holder.data(), static_cast<std::size_t>(got > 0 ? got : 0)},
                                      holder.size()))};
  }
  const std::string pid = std::to_string(::getpid());
  // Only for the message above: the lock is what counts.
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0) {
    return Error{Errc::failed, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                 errno};
  }
  return HostLock(std::move(fd));
}

}  // namespace reclaim
