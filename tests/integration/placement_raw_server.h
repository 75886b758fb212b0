// A server that misbehaves as told: for what no real Placement does on purpose. One thread accepts
// on a loopback port of its own; every connection gets the same treatment.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "state/base/check.h"

namespace reclaim::testing {

class RawServer final {
 public:
  // Called with a connection whose request headers have been read; closes nothing itself.
  using Treatment = std::function<void(int fd, const std::string& request)>;

  explicit RawServer(Treatment treatment) : treatment_(std::move(treatment)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener_ >= 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0);
    CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    CHECK(listen(listener_, 16) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RawServer() {
    stopping_ = true;
    thread_.join();
    for (const int fd : connections_) close(fd);
    close(listener_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int requests() const { return requests_; }

  // Writes all of it, or as much as the other side takes.
  static bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

 private:
  [[nodiscard]] bool readable(int fd) const {
    while (!stopping_) {
      pollfd waiting{fd, POLLIN, 0};
      if (poll(&waiting, 1, 20) > 0) return true;
    }
    return false;
  }

  void serve() {
    while (readable(listener_)) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      connections_.push_back(fd);
      std::string request;
      std::array<char, 4'096> buffer{};
      while (request.find("\r\n\r\n") == std::string::npos && readable(fd)) {
        const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
        if (count <= 0) break;
        request.append(buffer.data(), static_cast<std::size_t>(count));
      }
      if (request.empty()) continue;
      ++requests_;
      treatment_(fd, request);
    }
  }

  Treatment treatment_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> requests_{0};
  std::vector<int> connections_;
  std::thread thread_;
};

}  // namespace reclaim::testing
