// Stopping while the broker answers nothing: no connection, no login.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "listener/amqp/link.h"

namespace reclaim::listener {
namespace {

using ::testing::HasSubstr;

// Far more than a stop needs on a slow machine, and less than the broker is waited for. The kernel
// itself gives up on whom nobody answers after two minutes.
constexpr int kDeadlineMs = 100'000;
constexpr int kConnectTimeoutMs = 120'000;

enum class Kind { swallows, silent };

// A port of the loopback where nobody speaks; or whose queue is full, so that the kernel answers no
// SYN.
class DeafPort final {
 public:
  explicit DeafPort(Kind kind) : kind_(kind) {
    const int listening = make_socket(0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    CHECK(::bind(listening, address(), size) == 0);
    CHECK(::listen(listening, kind == Kind::silent ? 16 : 0) == 0);
    CHECK(::getsockname(listening, address(), &size) == 0);
    // One fills a queue of length 0; more, in case a kernel rounds it up.
    for (int i = 0; kind == Kind::swallows && i < 4; ++i) {
      (void)::connect(make_socket(SOCK_NONBLOCK), address(), size);
    }
  }
  // Whoever still connects is refused with its next SYN.
  ~DeafPort() {
    for (const int fd : sockets_) ::close(fd);
  }
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;

  [[nodiscard]] int port() const { return ntohs(address_.sin_port); }

  // Until whoever connects waits for an answer.
  void wait_for_caller() {
    if (kind_ == Kind::swallows) return;  // no SYN of his is answered, be it sent or not
    const int caller = ::accept(sockets_.front(), nullptr, nullptr);
    CHECK(caller >= 0);
    sockets_.push_back(caller);
    std::array<char, 8> greeting{};  // AMQP's first bytes
    CHECK(::recv(caller, greeting.data(), greeting.size(), MSG_WAITALL) == 8);
  }

 private:
  int make_socket(int flags) {
    sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    CHECK(sockets_.back() >= 0);
    return sockets_.back();
  }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }

  Kind kind_;
  sockaddr_in address_{};
  std::vector<int> sockets_;
};

class Lines final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    said += std::string(text) + "\n";
  }
  std::string said;
};

class AmqpStop : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<AmqpLink> connecting() {
    AmqpOptions options;
    options.hosts = {{"127.0.0.1", port_.port(), "guest", "guest"}};
    options.connect_timeout_ms = kConnectTimeoutMs;
    auto made =
        AmqpLink::create(loop_.raw(), options, lines_, {[](const AmqpDelivery&) {}, nullptr});
    CHECK(made.ok());
    (*made)->start();
    port_.wait_for_caller();
    return std::move(*made);
  }

  // Runs the loop until `done`; whether that came in time.
  bool run_until(const bool& done) {
    bool late = false;
    uv::Timer patience(loop_.raw());
    patience.start(kDeadlineMs, 0, [&] { late = true; });
    while (!done && !late) loop_.run_once();
    return !late;
  }

  uv::Loop loop_;
  Lines lines_;
  DeafPort port_{GetParam()};
};

TEST_P(AmqpStop, DoesNotWaitForTheConnection) {
  const std::unique_ptr<AmqpLink> link = connecting();
  bool stopped = false;
  link->stop([&] { stopped = true; });
  EXPECT_FALSE(stopped);  // never from within
  EXPECT_TRUE(run_until(stopped));
  EXPECT_FALSE(link->state().connected);
  EXPECT_THAT(lines_.said, HasSubstr("RabbitMQ at 127.0.0.1:" + std::to_string(port_.port())));
  EXPECT_THAT(lines_.said, HasSubstr("firewall"));
}

TEST_P(AmqpStop, NorDoesItsEnd) {
  const auto begun = std::chrono::steady_clock::now();
  connecting().reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(kDeadlineMs));
}

INSTANTIATE_TEST_SUITE_P(Brokers, AmqpStop, ::testing::Values(Kind::swallows, Kind::silent),
                         [](const auto& kind) {
                           return kind.param == Kind::swallows ? "ThatSwallowsPackets"
                                                               : "ThatSaysNothing";
                         });

}  // namespace
}  // namespace reclaim::listener
