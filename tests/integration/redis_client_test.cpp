// The client against a real redis-server, and against one that misbehaves.
#include "state/redis/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "state/base/check.h"
#include "tests/integration/redis_server.h"

namespace reclaim {
namespace {

using test::RedisServer;
using test::run_for;
using test::run_until;

// Answers with the same bytes whatever it is asked.
class PlainServer final {
 public:
  explicit PlainServer(std::string says) : says_(std::move(says)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, at, length) == 0 && ::listen(listener_, 16) == 0);
    CHECK(::getsockname(listener_, at, &length) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~PlainServer() {
    for (const int fd : connections_) ::close(fd);
    ::close(listener_);
  }
  PlainServer(const PlainServer&) = delete;
  PlainServer& operator=(const PlainServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // What there is to do now.
  void turn() {
    const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted >= 0) connections_.push_back(accepted);
    std::array<char, 4'096> asked{};
    for (const int fd : connections_) {
      if (::recv(fd, asked.data(), asked.size(), MSG_DONTWAIT) <= 0) continue;
      (void)::send(fd, says_.data(), says_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }

 private:
  std::string says_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> connections_;
};

class RedisClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<RedisClient> client(const RedisOptions& options) {
    auto created = RedisClient::create(loop_.raw(), options, logger_);
    CHECK(created.ok());
    return *std::move(created);
  }

  bool connect(RedisClient& client) {
    client.start();
    return run_until(loop_, [&] { return client.state().connected; });
  }

  Result<RedisReply> ask(RedisClient& client, std::vector<std::string> words) {
    std::optional<Result<RedisReply>> answer;
    int calls = 0;
    client.command(std::move(words), [&](Result<RedisReply> reply) {
      ++calls;
      answer.emplace(std::move(reply));
    });
    EXPECT_EQ(calls, 0) << "the callback came inside the call";
    run_until(loop_, [&] { return answer.has_value(); });
    EXPECT_EQ(calls, 1);
    return answer ? *answer : Result<RedisReply>(Error{Errc::failed, "no answer"});
  }

  // Connects and expects to be refused with a text that holds `words`.
  void expect_refused(const RedisOptions& options, const std::string& words) {
    const auto refused = client(options);
    refused->start();
    ASSERT_TRUE(run_until(loop_, [&] { return !refused->state().last_error.empty(); }));
    EXPECT_FALSE(refused->state().connected);
    EXPECT_NE(refused->state().last_error.find(words), std::string::npos)
        << refused->state().last_error;
    const auto answer = ask(*refused, {"PING"});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, Errc::unavailable);
    EXPECT_NE(answer.error().what.find(words), std::string::npos) << answer.error().what;
  }

  NullLogger logger_;
  uv::Loop loop_;
};

TEST_F(RedisClientTest, AsksAndIsAnswered) {
  RedisServer server;
  const auto redis = client(server.options());
  EXPECT_EQ(ask(*redis, {"PING"}).error().code, Errc::unavailable);
  ASSERT_TRUE(connect(*redis));
  EXPECT_EQ(ask(*redis, {"PING"})->text, "PONG");
  const std::string binary("a\0b\r\n\xff", 6);
  EXPECT_EQ(ask(*redis, {"SET", "key", binary})->text, "OK");
  EXPECT_EQ(ask(*redis, {"GET", "key"})->text, binary);
  EXPECT_TRUE(ask(*redis, {"GET", "none"})->is_nil());
  EXPECT_EQ(ask(*redis, {"INCR", "n"})->integer, 1);
  const auto wrong = ask(*redis, {"LPUSH", "key", "x"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::failed);
  EXPECT_EQ(wrong.error().what.find("Redis says: WRONGTYPE"), 0U);
}

TEST_F(RedisClientTest, ResolvesNamesAndSpeaksOverUnixSockets) {
  RedisServer server;
  RedisOptions options = server.options();
  options.host = "localhost";
  const auto by_name = client(options);
  ASSERT_TRUE(connect(*by_name));
  EXPECT_EQ(ask(*by_name, {"PING"})->text, "PONG");
  options.unix_socket = server.socket();
  options.port = 1;
  const auto by_socket = client(options);
  ASSERT_TRUE(connect(*by_socket));
  EXPECT_EQ(ask(*by_socket, {"PING"})->text, "PONG");
}

TEST_F(RedisClientTest, SelectsTheDatabase) {
  RedisServer server;
  RedisOptions options = server.options();
  options.db = 3;
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  ASSERT_TRUE(ask(*redis, {"SET", "key", "in three"}).ok());
  EXPECT_EQ(server.cli({"-n", "3", "GET", "key"}), "in three");
  EXPECT_EQ(server.cli({"-n", "0", "GET", "key"}), "");
  options.db = 99;
  expect_refused(options, "DB index is out of range");
}

TEST_F(RedisClientTest, AuthenticatesByPassword) {
  RedisServer server({"--requirepass", "s3cret word"});
  RedisOptions options = server.options();
  expect_refused(options,
                 "NOAUTH Authentication required.; check user and password in [redis] url");
  options.password = "wrong";
  expect_refused(options, "WRONGPASS");
  options.password = "s3cret word";
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  EXPECT_EQ(ask(*redis, {"PING"})->text, "PONG");
}

TEST_F(RedisClientTest, AuthenticatesAsAnAclUser) {
  RedisServer server;
  ASSERT_EQ(server.cli({"ACL", "SETUSER", "reclaim", "on", ">pw", "~reclaim:*", "+ping", "+get"}),
            "OK");
  RedisOptions options = server.options();
  options.username = "reclaim";
  options.password = "nopw";
  expect_refused(options, "WRONGPASS");
  options.password = "pw";
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  EXPECT_TRUE(ask(*redis, {"GET", "reclaim:x"}).ok());
  EXPECT_EQ(ask(*redis, {"GET", "other"}).error().code, Errc::refused);
  EXPECT_EQ(ask(*redis, {"SET", "reclaim:x", "1"}).error().code, Errc::refused);
}

TEST_F(RedisClientTest, SaysWhyItCannotConnect) {
  RedisOptions options;
  {
    RedisServer server;
    options = server.options();
  }
  expect_refused(options, "Connection refused");
  options.unix_socket = "/nowhere/redis.sock";
  expect_refused(options, "No such file or directory");
  options.unix_socket.clear();
  options.host = "no-such-host.invalid";
  expect_refused(options, "cannot resolve 'no-such-host.invalid'");
}

// What somebody between the two writes, or what is no Redis. hiredis would end the process.
TEST_F(RedisClientTest, AReplyThatNothingWasAskedForEndsTheConnection) {
  constexpr std::string_view kPong = "+PONG\r\n";
  for (const std::string_view unasked :
       {"+OK\r\n", ":1\r\n", "$-1\r\n", "$1\r\nx\r\n", "*0\r\n", "*-1\r\n", "*1\r\n+x\r\n"}) {
    PlainServer server(std::string(kPong) + std::string(unasked));
    RedisOptions options;
    options.host = "127.0.0.1";
    options.port = server.port();
    const auto redis = client(options);
    redis->start();
    EXPECT_TRUE(run_until(loop_,
                          [&] {
                            server.turn();
                            return redis->state().last_error.find("nothing was asked for") !=
                                   std::string::npos;
                          }))
        << unasked << redis->state().last_error;
    EXPECT_FALSE(redis->state().connected);
  }
}

TEST_F(RedisClientTest, ComesBackAfterAKill) {
  RedisServer server;
  const auto redis = client(server.options());
  ASSERT_TRUE(connect(*redis));
  // In flight when the server dies: nobody knows whether it was done.
  std::optional<Result<RedisReply>> answer;
  redis->command({"BLPOP", "never", "0"},
                 [&](Result<RedisReply> r) { answer.emplace(std::move(r)); });
  run_for(loop_, 20);
  server.kill_hard();
  ASSERT_TRUE(run_until(loop_, [&] { return answer.has_value(); }));
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code, Errc::unknown);
  EXPECT_FALSE(redis->state().connected);
  EXPECT_EQ(ask(*redis, {"PING"}).error().code, Errc::unavailable);
  server.start();
  ASSERT_TRUE(run_until(loop_, [&] { return redis->state().connected; }));
  EXPECT_EQ(redis->state().connects, 2U);
  EXPECT_EQ(ask(*redis, {"PING"})->text, "PONG");
}

TEST_F(RedisClientTest, AServerThatStopsAnsweringIsGivenUp) {
  RedisServer server;
  RedisOptions options = server.options();
  options.command_timeout_ms = 300;
  options.connect_timeout_ms = 300;
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  std::vector<Errc> codes;
  server.freeze();
  for (int i = 0; i < 3; ++i) {
    redis->command({"INCR", "n"}, [&](const Result<RedisReply>& reply) {
      codes.push_back(reply.ok() ? Errc::failed : reply.error().code);
    });
  }
  ASSERT_TRUE(run_until(loop_, [&] { return codes.size() == 3; }));
  EXPECT_EQ(codes, (std::vector<Errc>(3, Errc::unknown)));
  EXPECT_FALSE(redis->state().connected);
  // Still frozen: the kernel accepts the connection, but nobody greets.
  ASSERT_TRUE(run_until(loop_, [&] {
    return redis->state().last_error.find("no answer within 300 ms") != std::string::npos;
  }));
  server.thaw();
  ASSERT_TRUE(run_until(loop_, [&] { return redis->state().connected; }));
  // A slow machine may take longer than this client waits; then it asks again.
  EXPECT_TRUE(run_until(loop_, [&] { return ask(*redis, {"GET", "n"}).ok(); }));
}

TEST_F(RedisClientTest, BlockingCommandsHaveADeadlineOfTheirOwn) {
  RedisServer server;
  RedisOptions options = server.options();
  options.command_timeout_ms = 200;
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  std::optional<Result<RedisReply>> answer;
  redis->command(
      {"BLPOP", "never", "0.6"}, [&](Result<RedisReply> r) { answer.emplace(std::move(r)); },
      20'000);
  ASSERT_TRUE(run_until(loop_, [&] { return answer.has_value(); }));
  ASSERT_TRUE(answer->ok()) << answer->error().what;
  EXPECT_TRUE((*answer)->is_nil());
}

TEST_F(RedisClientTest, CommandsInFlightAreBounded) {
  RedisServer server;
  RedisOptions options = server.options();
  options.commands_in_flight_max = 10;
  options.command_bytes_max = 100;
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  EXPECT_EQ(ask(*redis, {"SET", "key", std::string(101, 'x')}).error().code, Errc::limit);
  int fine = 0;
  int over = 0;
  for (int i = 0; i < 15; ++i) {
    redis->command({"PING"}, [&](const Result<RedisReply>& reply) {
      if (reply.ok()) ++fine;
      if (!reply.ok() && reply.error().code == Errc::limit) ++over;
    });
  }
  ASSERT_TRUE(run_until(loop_, [&] { return fine + over == 15; }));
  EXPECT_EQ(fine, 10);
  EXPECT_EQ(over, 5);
}

TEST_F(RedisClientTest, RepliesAreBounded) {
  RedisServer server;
  server.cli({"SET", "big", std::string(100'000, 'x')});
  server.cli({"EVAL", "for i=1,2000 do redis.call('RPUSH', 'long', i) end", "0"});
  RedisOptions options = server.options();
  options.reply_bytes_max = 50'000;
  options.reply_elements_max = 1000;
  const auto redis = client(options);
  ASSERT_TRUE(connect(*redis));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"GET", "big"}, {"LRANGE", "long", "0", "-1"}}) {
    ASSERT_TRUE(run_until(loop_, [&] { return redis->state().connected; }));
    const auto answer = ask(*redis, words);
    ASSERT_FALSE(answer.ok()) << words[0];
    EXPECT_EQ(answer.error().code, Errc::limit) << "it would be the same again";
    EXPECT_NE(answer.error().what.find("a reply is over the limit"), std::string::npos)
        << answer.error().what;
  }
  ASSERT_TRUE(run_until(loop_, [&] { return redis->state().connected; }));
  EXPECT_EQ(ask(*redis, {"LRANGE", "long", "0", "900"})->elements.size(), 901U);
}

TEST_F(RedisClientTest, ClosingCompletesEverything) {
  RedisServer server;
  auto redis = client(server.options());
  ASSERT_TRUE(connect(*redis));
  std::vector<Errc> codes;
  const auto note = [&](const Result<RedisReply>& reply) {
    codes.push_back(reply.ok() ? Errc::failed : reply.error().code);
  };
  redis->command({"BLPOP", "never", "0"}, note);
  run_for(loop_, 20);
  redis->command({"PING"}, note);
  redis->close();
  EXPECT_EQ(codes, (std::vector<Errc>(2, Errc::cancelled)));
  redis->command({"PING"}, note);
  EXPECT_EQ(codes.size(), 2U);
  redis.reset();
  EXPECT_EQ(codes, (std::vector<Errc>(3, Errc::cancelled)));
}

TEST_F(RedisClientTest, MayBeDestroyedInACallback) {
  RedisServer server;
  auto redis = client(server.options());
  ASSERT_TRUE(connect(*redis));
  int calls = 0;
  for (int i = 0; i < 5; ++i) {
    redis->command({"PING"}, [&](const Result<RedisReply>&) {
      ++calls;
      redis.reset();
    });
  }
  ASSERT_TRUE(run_until(loop_, [&] { return calls == 5; }));
  auto other = client(server.options());
  other->on_state([&](const RedisState&) { other.reset(); });
  other->start();
  ASSERT_TRUE(run_until(loop_, [&] { return other == nullptr; }));
  RedisOptions closed = server.options();
  closed.unix_socket = "/nowhere/redis.sock";
  auto refused = client(closed);
  refused->on_state([&](const RedisState&) { refused.reset(); });
  refused->start();
  EXPECT_TRUE(run_until(loop_, [&] { return refused == nullptr; }));
}

TEST_F(RedisClientTest, BadOptionsAreRefused) {
  RedisOptions options;
  options.host.clear();
  EXPECT_FALSE(RedisClient::create(loop_.raw(), options, logger_).ok());
  options = RedisOptions{};
  options.reconnect_max_ms = 1;
  EXPECT_FALSE(RedisClient::create(loop_.raw(), options, logger_).ok());
}

}  // namespace
}  // namespace reclaim
