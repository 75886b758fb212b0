// The sockets on which the HTTP server waits for connections.
//
// Thread: the loop's. A listener owns its socket, and the file of a unix socket until it goes.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim::listener {

class HttpListener final {
 public:
  // "127.0.0.1:6666", "[::1]:6666"; port 0: any that is free. An IPv6 address takes IPv6 only.
  [[nodiscard]] static Result<HttpListener> tcp(const std::string& address);
  // A socket file of ours that nobody listens on is replaced; anything else at the path is an
  // error. `group`: the gid that the file gets; nothing: that of the process.
  [[nodiscard]] static Result<HttpListener> unix_socket(
      const std::string& path, std::uint32_t mode,
      std::optional<std::uint32_t> group = std::nullopt);
  ~HttpListener();
  HttpListener(HttpListener&&) noexcept = default;
  HttpListener& operator=(HttpListener&&) = delete;
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool is_unix() const { return !path_.empty(); }
  [[nodiscard]] const std::string& name() const { return name_; }  // "127.0.0.1:6666" or the path

 private:
  HttpListener(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  UniqueFd fd_;
  std::string name_;
  std::string path_;  // of the unix socket, to be removed if it is still ours
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// "10.0.0.1" or "10.0.0.1:6666", "[::1]:6666"; "" for what is not an IP address.
[[nodiscard]] std::string to_host(const sockaddr_storage& address);
[[nodiscard]] std::string to_host_and_port(const sockaddr_storage& address);

}  // namespace reclaim::listener
