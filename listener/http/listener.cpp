#include "listener/http/listener.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

namespace reclaim::listener {
namespace {

constexpr int kBacklog = 128;
constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

Error failed(std::string_view address, std::string_view what, int code) {
  return Error{Errc::failed,
               fmt::format("cannot listen on {}: {}: {}", address, what,
                           std::generic_category().message(code)),
               code};
}

Error not_an_address(const std::string& address) {
  return Error{Errc::invalid,
               fmt::format("cannot listen on '{}': an IP address and a port are needed, such as "
                           "127.0.0.1:6666 or [::1]:6666",
                           address)};
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

bool parse(const std::string& text, Address& out) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stopped != end) return false;
  if (text[0] != '[') {
    auto& v4 = reinterpret_cast<sockaddr_in&>(out.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    out.length = sizeof(v4);
    return inet_pton(AF_INET, text.substr(0, colon).c_str(), &v4.sin_addr) == 1;
  }
  if (text[colon - 1] != ']') return false;
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out.storage);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  out.length = sizeof(v6);
  return inet_pton(AF_INET6, text.substr(1, colon - 2).c_str(), &v6.sin6_addr) == 1;
}

// Removes a socket file whose listener is gone. Nothing there is fine as well.
Status clear_path(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return Ok{};
    return failed(path, "looking at it", errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return Error{Errc::refused,
                 fmt::format("cannot listen on {}: it exists and is not a socket", path)};
  }
  // One who made it may come back, and would find his place taken.
  if (found.st_uid != geteuid()) {
    return Error{Errc::refused,
                 fmt::format("cannot listen on {}: the socket there is of another user (uid {}); "
                             "remove it if it is not used",
                             path, found.st_uid)};
  }
  const UniqueFd probe(socket(AF_UNIX, kSocketFlags, 0));
  if (!probe.valid()) return failed(path, "socket", errno);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED) {
    return Error{Errc::busy, fmt::format("cannot listen on {}: address already in use", path)};
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path, "removing it", errno);
  return Ok{};
}

}  // namespace

std::string to_host(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

std::string to_host_and_port(const sockaddr_storage& address) {
  const std::string host = to_host(address);
  if (host.empty()) return "";
  if (address.ss_family == AF_INET) {
    return fmt::format("{}:{}", host,
                       ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port));
  }
  return fmt::format("[{}]:{}", host,
                     ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port));
}

Result<HttpListener> HttpListener::tcp(const std::string& address) {
  Address parsed;
  if (!parse(address, parsed)) return not_an_address(address);
  UniqueFd fd(socket(parsed.storage.ss_family, kSocketFlags, 0));
  if (!fd.valid()) return failed(address, "socket", errno);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (parsed.storage.ss_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&parsed.storage), parsed.length) != 0) {
    return failed(address, "bind", errno);
  }
  if (listen(fd.get(), kBacklog) != 0) return failed(address, "listen", errno);
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return failed(address, "getsockname", errno);
  }
  return HttpListener(std::move(fd), to_host_and_port(bound));
}

Result<HttpListener> HttpListener::unix_socket(const std::string& path, std::uint32_t mode,
                                               std::optional<std::uint32_t> group) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path[0] != '/' || path.size() >= sizeof(address.sun_path)) {
    return Error{
        Errc::invalid,
        fmt::format("cannot listen on '{}': an absolute path of at most {} bytes is needed", path,
                    sizeof(address.sun_path) - 1)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const Status cleared = clear_path(path, address);
  if (!cleared.ok()) return cleared.error();

  UniqueFd fd(socket(AF_UNIX, kSocketFlags, 0));
  if (!fd.valid()) return failed(path, "socket", errno);
  // The file is made with the socket's mode less the umask, so at no time is it open to more than
  // was asked; the second step adds what the umask took.
  if (fchmod(fd.get(), mode) != 0) return failed(path, "fchmod", errno);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return failed(path, "bind", errno);
  }
  HttpListener listener(std::move(fd), path);
  struct stat made {};
  if (lstat(path.c_str(), &made) != 0) return failed(path, "looking at it", errno);
  listener.path_ = path;
  listener.device_ = made.st_dev;
  listener.inode_ = made.st_ino;
  if (group && lchown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return Error{Errc::failed,
                 fmt::format("cannot give {} to the group with gid {}: {}; a service that may not "
                             "give files away has to be in that group (systemd: "
                             "SupplementaryGroups=)",
                             path, *group, std::generic_category().message(errno)),
                 errno};
  }
  if (chmod(path.c_str(), mode) != 0) return failed(path, "chmod", errno);
  if (listen(listener.fd(), kBacklog) != 0) return failed(path, "listen", errno);
  return listener;
}

HttpListener::~HttpListener() {
  if (path_.empty() || !fd_.valid()) return;
  struct stat found {};
  if (lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

}  // namespace reclaim::listener
