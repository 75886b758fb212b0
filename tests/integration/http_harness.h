// An HttpServer on a loop of its own thread, a blocking client that says exactly the bytes it is
// told, and curl.
#pragma once

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "listener/http/server.h"
#include "state/base/check.h"
#include "state/base/unique_fd.h"
#include "state/base/uv.h"

namespace reclaim::testing {

// How long a test waits for what must come; a slow machine keeps it.
constexpr std::chrono::seconds kPatience{300};

class LogLines final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields) override {
    std::string line = std::string(name) + " " + std::string(text);
    for (const LogField& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    const std::lock_guard lock(mutex_);
    text_ += line + "\n";
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// A loop turned by a thread.
class LoopThread final {
 public:
  LoopThread() : calls_(loop_.raw(), [](std::function<void()> call) { call(); }) {
    thread_ = std::thread([this] {
      while (!done_) loop_.run_once();
    });
  }
  ~LoopThread() {
    calls_.post([this] { done_ = true; });
    thread_.join();
  }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  [[nodiscard]] uv_loop_t* raw() { return loop_.raw(); }

  // Runs there; returns when it did.
  void call(const std::function<void()>& what) {
    std::promise<void> ran;
    calls_.post([&] {
      what();
      ran.set_value();
    });
    CHECK(ran.get_future().wait_for(kPatience) == std::future_status::ready);
  }

 private:
  uv::Loop loop_;
  uv::Mailbox<std::function<void()>> calls_;
  bool done_ = false;
  std::thread thread_;
};

inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A client that keeps to no rule but its test's.
class Wire final {
 public:
  explicit Wire(const sockaddr* address, socklen_t length, int receive_bytes = 0)
      : fd_(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) {
      setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
    const timeval patience{kPatience.count(), 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    CHECK(connect(fd_.get(), address, length) == 0);
  }
  static Wire tcp(int port, int receive_bytes = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return Wire(reinterpret_cast<const sockaddr*>(&address), sizeof(address), receive_bytes);
  }

  // Whether the server took it all.
  bool say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void end() { shutdown(fd_.get(), SHUT_WR); }
  // Closes with a reset.
  void reset() {
    const linger hard{1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    fd_.reset();
  }
  void close() { fd_.reset(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

  // All that is heard until the server closes; "RESET" at the end if it did not end in peace, and
  // "SILENCE" if nothing came any more.
  std::string hear_all() {
    while (more()) {
    }
    return std::exchange(heard_, "");
  }
  // Up to and with the end of the next head.
  std::string hear_head() {
    while (heard_.find("\r\n\r\n") == std::string::npos && more()) {
    }
    const std::size_t end = heard_.find("\r\n\r\n");
    return take(end == std::string::npos ? heard_.size() : end + 4);
  }
  // The next answer whole, its body told by Content-Length.
  std::string hear_answer() {
    std::string head = hear_head();
    const std::size_t at = head.find("Content-Length: ");
    const std::size_t length = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    while (heard_.size() < length && more()) {
    }
    return head + take(length);
  }

 private:
  bool more() {
    std::array<char, 65'536> buffer{};
    ssize_t count = 0;
    do {  // libuv's io_uring, on Debian 13, interrupts calls that have a timeout
      count = recv(fd_.get(), buffer.data(), buffer.size(), 0);
    } while (count < 0 && errno == EINTR);
    if (count > 0) {
      heard_.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count < 0) {
      heard_ += errno == ECONNRESET ? "RESET" : "SILENCE";
    }
    return count > 0;
  }
  std::string take(std::size_t bytes) {
    std::string out = heard_.substr(0, bytes);
    heard_.erase(0, bytes);
    return out;
  }

  UniqueFd fd_;
  std::string heard_;
};

struct Ran {
  int code = -1;
  std::string output;  // standard output and error
};

inline Ran run(const std::string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "re");
  CHECK(pipe != nullptr);
  std::array<char, 4'096> buffer{};
  std::size_t count = 0;
  while ((count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    ran.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

inline Ran curl(const std::string& arguments) {
  return run(fmt::format("curl --noproxy '*' -sS --max-time {} ", kPatience.count()) + arguments);
}

}  // namespace reclaim::testing
