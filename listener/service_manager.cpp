#include "listener/service_manager.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace reclaim::listener {

ServiceManager::ServiceManager() {
  if (const char* path = std::getenv("NOTIFY_SOCKET")) socket_ = path;
  if (const char* usec = std::getenv("WATCHDOG_USEC")) {
    // Twice in each period, as sd_watchdog_enabled(3) recommends.
    alive_interval_ms_ = std::strtoull(usec, nullptr, 10) / 2000;
  }
}

void ServiceManager::ready(std::string_view status) const {
  send(fmt::format("READY=1\nSTATUS={}", status));
}

void ServiceManager::status(std::string_view status) const {
  send(fmt::format("STATUS={}", status));
}

void ServiceManager::stopping() const {
  send("STOPPING=1");
}

void ServiceManager::alive() const {
  send("WATCHDOG=1");
}

void ServiceManager::send(const std::string& text) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') to.sun_path[0] = '\0';  // the abstract namespace
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A manager that does not listen is no reason to stop working.
  static_cast<void>(sendto(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                           reinterpret_cast<const sockaddr*>(&to), length));
  close(fd);
}

}  // namespace reclaim::listener
