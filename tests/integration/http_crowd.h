// Many bad HTTP clients at once, and a probe that tells how late a loop is.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/http_harness.h"

namespace reclaim::testing {

// A timer of every 2 ms on the loop itself: by how much it is late is what anybody there waits. On
// a machine with other work that is mostly the machine; what the loop's own thread computed between
// two firings is the loop's.
class LagProbe final {
 public:
  explicit LagProbe(LoopThread& thread) : thread_(thread) {
    thread_.call([this] {
      timer_ = std::make_unique<uv::Timer>(thread_.raw());
      due_ = std::chrono::steady_clock::now() + kEvery;
      timer_->start(kEvery.count(), 0, [this] { on_fire(); });
    });
  }
  ~LagProbe() {
    thread_.call([this] { timer_.reset(); });
  }
  LagProbe(const LagProbe&) = delete;
  LagProbe& operator=(const LagProbe&) = delete;

  [[nodiscard]] double max_ms() {
    return read([this] { return max_ms_; });
  }
  [[nodiscard]] double mean_ms() {
    return read(
        [this] { return sum_ms_ / static_cast<double>(std::max<std::size_t>(samples_, 1)); });
  }
  [[nodiscard]] double max_own_ms() {
    return read([this] { return max_own_ms_; });
  }
  [[nodiscard]] std::size_t samples() {
    return static_cast<std::size_t>(read([this] { return static_cast<double>(samples_); }));
  }

 private:
  static constexpr std::chrono::milliseconds kEvery{2};

  double read(const std::function<double()>& what) {
    double out = 0;
    thread_.call([&] { out = what(); });
    return out;
  }
  static double own_ms() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
  }
  void on_fire() {
    const double own = own_ms();
    if (samples_ > 0) max_own_ms_ = std::max(max_own_ms_, own - own_ms_);
    own_ms_ = own;
    const auto now = std::chrono::steady_clock::now();
    const double late = std::chrono::duration<double, std::milli>(now - due_).count();
    // libuv counts whole milliseconds: half of one it may be early.
    max_ms_ = std::max(max_ms_, late);
    sum_ms_ += std::max(late, 0.0);
    ++samples_;
    due_ = now + kEvery;
    timer_->start(kEvery.count(), 0, [this] { on_fire(); });
  }

  LoopThread& thread_;
  std::unique_ptr<uv::Timer> timer_;
  std::chrono::steady_clock::time_point due_;
  double max_ms_ = 0;
  double sum_ms_ = 0;
  double own_ms_ = 0;
  double max_own_ms_ = 0;
  std::size_t samples_ = 0;
};

// `each` of five kinds: silent; a byte every 100 ms; garbage; huge heads; large answers asked for
// and never read. Who is thrown out comes again.
class HttpCrowd final {
 public:
  HttpCrowd(int port, int each) : port_(port) {
    for (int i = 0; i < 5 * each; ++i) clients_.push_back({static_cast<Kind>(i % 5), {}, 0});
    thread_ = std::thread([this] { run(); });
  }
  ~HttpCrowd() {
    stopping_ = true;
    thread_.join();
  }
  HttpCrowd(const HttpCrowd&) = delete;
  HttpCrowd& operator=(const HttpCrowd&) = delete;

  [[nodiscard]] std::size_t refusals_heard() const { return refusals_; }

 private:
  enum class Kind { silent, slow, garbage, huge, deaf };
  struct Client {
    Kind kind;
    UniqueFd fd;
    std::size_t said;
  };

  void run() {
    for (int round = 0; !stopping_; ++round) {
      for (Client& client : clients_) step(client, round);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void step(Client& client, int round) {
    if (!client.fd.valid()) {
      const int receive_bytes = 4'096;
      client.fd = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (client.kind == Kind::deaf) {
        setsockopt(client.fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
      }
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<std::uint16_t>(port_));
      if (connect(client.fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        return client.fd.reset();
      }
      client.said = 0;
    }
    static const std::string kSlow =
        "GET /slow HTTP/1.1\r\nHost: h\r\nX-Slow: " + std::string(1'000, 's');
    static const std::string kHuge = "GET /huge HTTP/1.1\r\nX-Huge: " + std::string(200'000, 'h');
    static const std::string kGarbage = "\x16\x03\x01 no HTTP \xff\xfe\r\n" + std::string(500, '?');
    static const std::string kDeaf = "GET /large?bytes=300000 HTTP/1.1\r\nHost: h\r\n\r\n";
    switch (client.kind) {
      case Kind::silent:
        return;
      case Kind::slow:
        if (round % 5 == 0) say(client, kSlow.substr(client.said % kSlow.size(), 1));
        return;
      case Kind::garbage:
        say(client, kGarbage);
        break;
      case Kind::huge:
        say(client, std::string_view(kHuge).substr(client.said % kHuge.size(), 50'000));
        break;
      case Kind::deaf:
        if (client.said < 100 * kDeaf.size()) say(client, kDeaf);
        return;
    }
    std::array<char, 4'096> heard{};
    const ssize_t count = recv(client.fd.get(), heard.data(), heard.size(), MSG_DONTWAIT);
    if (count > 0 && std::string_view(heard.data(), 10) == "HTTP/1.1 4") ++refusals_;
    if (count > 0 || (count < 0 && errno != EAGAIN)) client.fd.reset();
  }

  static void say(Client& client, std::string_view text) {
    const ssize_t count =
        ::send(client.fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) client.said += static_cast<std::size_t>(count);
    if (count < 0 && errno != EAGAIN && client.kind != Kind::garbage && client.kind != Kind::huge) {
      client.fd.reset();
    }
  }

  int port_;
  std::vector<Client> clients_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> refusals_ = 0;
  std::thread thread_;
};

}  // namespace reclaim::testing
