// A broker that speaks AMQP 0-9-1 as far as a worker's login and consumer need it, and then says
// what a test wants: what RabbitMQ never says. Inner to the tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "state/base/check.h"
#include "state/base/unique_fd.h"

namespace reclaim::listener::hostile {

// Class and method of AMQP, as one number.
constexpr std::uint32_t method_id(std::uint32_t of_class, std::uint32_t method) {
  return (of_class << 16U) | method;
}
inline constexpr std::uint32_t kStart = method_id(10, 0);  // what the first bytes ask for
inline constexpr std::uint32_t kChannelOpen = method_id(20, 10);
inline constexpr std::uint32_t kQueueDeclare = method_id(50, 10);
inline constexpr std::uint32_t kConsume = method_id(60, 20);

inline std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) {
    out += static_cast<char>(value >> (8U * static_cast<unsigned>(i)));
  }
  return out;
}

inline std::string long_text(std::string_view text) {
  return number(text.size(), 4) + std::string(text);
}

constexpr int kMethodFrame = 1;
constexpr int kHeaderFrame = 2;
constexpr int kBodyFrame = 3;
constexpr int kHeartbeatFrame = 8;

inline std::string frame(int type, int channel, std::string_view payload) {
  return number(static_cast<std::uint64_t>(type), 1) +
         number(static_cast<std::uint64_t>(channel), 2) + long_text(payload) + "\xCE";
}

inline std::string method(int channel, std::uint32_t id, const std::string& arguments = "") {
  return frame(kMethodFrame, channel, number(id, 4) + arguments);
}

class HostileBroker final {
 public:
  // What is said to a method: to the first call, the second …, the last to all that follow.
  using Answers = std::map<std::uint32_t, std::vector<std::string>>;

  // `answers`: in place of what a broker says.
  explicit HostileBroker(const Answers& answers)
      : answers_{
            {kStart, {start("", "PLAIN")}},
            {method_id(10, 11),
             {method(0, method_id(10, 30), number(0, 2) + number(131072, 4) + number(0, 2))}},
            {method_id(10, 31), {""}},
            {method_id(10, 40), {method(0, method_id(10, 41), number(0, 1))}},
            {method_id(10, 50), {method(0, method_id(10, 51))}},
            {method_id(10, 51), {""}},
            {kChannelOpen, {method(1, method_id(20, 11), number(0, 4))}},
            {method_id(20, 40), {method(1, method_id(20, 41))}},
            {method_id(20, 41), {""}},
            {method_id(40, 10), {method(1, method_id(40, 11))}},
            {kQueueDeclare, {method(1, method_id(50, 11), number(0, 1) + number(0, 8))}},
            {method_id(50, 20), {method(1, method_id(50, 21))}},
            {method_id(60, 10), {method(1, method_id(60, 11))}},
            {kConsume, {consume_ok()}},
        } {
    for (const auto& [id, answer] : answers) answers_[id] = answer;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_.get(), any, size) == 0 && ::listen(listener_.get(), 16) == 0);
    CHECK(::getsockname(listener_.get(), any, &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HostileBroker() {
    stopping_ = true;
    thread_.join();
  }
  HostileBroker(const HostileBroker&) = delete;
  HostileBroker& operator=(const HostileBroker&) = delete;

  static std::string consume_ok() { return method(1, method_id(60, 21), number(0, 1)); }
  static std::string start(std::string_view properties, std::string_view mechanisms) {
    return method(
        0, method_id(10, 10),
        number(9, 2) + long_text(properties) + long_text(mechanisms) + long_text("en_US"));
  }

  int port = 0;

 private:
  static constexpr int kLookMs = 20;

  // Nothing: the peer has gone, or the test has ended.
  bool read(int fd, std::string& out, std::size_t bytes) {
    out.clear();
    while (out.size() < bytes) {
      pollfd ready{fd, POLLIN, 0};
      if (stopping_) return false;
      if (::poll(&ready, 1, kLookMs) < 1) continue;
      std::array<char, 4096> some{};
      const ssize_t got = ::recv(fd, some.data(), std::min(some.size(), bytes - out.size()), 0);
      if (got <= 0) return false;
      out.append(some.data(), static_cast<std::size_t>(got));
    }
    return true;
  }

  void say(int fd, std::uint32_t id) {
    const auto answers = answers_.find(id);
    if (answers == answers_.end()) return;
    const std::size_t last = answers->second.size() - 1;
    const std::string& answer = answers->second[std::min(asked_[id]++, last)];
    (void)::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  }

  void serve() {
    while (!stopping_) {
      pollfd ready{listener_.get(), POLLIN, 0};
      if (::poll(&ready, 1, kLookMs) < 1) continue;
      const UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (peer.valid()) talk(peer.get());
    }
  }

  void talk(int fd) {
    std::string bytes;
    asked_.clear();
    if (!read(fd, bytes, 8)) return;
    say(fd, kStart);
    while (read(fd, bytes, 7)) {
      const bool is_method = bytes[0] == kMethodFrame;
      std::uint32_t size = 0;
      for (std::size_t i = 3; i < 7; ++i) size = size << 8U | static_cast<unsigned char>(bytes[i]);
      if (!read(fd, bytes, size + 1)) return;
      std::uint32_t id = 0;
      for (std::size_t i = 0; i < 4; ++i) id = id << 8U | static_cast<unsigned char>(bytes[i]);
      if (is_method) say(fd, id);
    }
  }

  Answers answers_;
  std::map<std::uint32_t, std::size_t> asked_;  // of the connection that is served
  const UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace reclaim::listener::hostile
