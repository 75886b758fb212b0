// The client by TLS to a real redis-server: what it trusts, what it refuses, and what it says then.
#include "state/redis/tls.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/redis/client.h"
#include "tests/integration/redis_nodes.h"
#include "tests/integration/redis_server.h"
#include "tests/integration/store_on_redis.h"
#include "tests/source_path.h"
#include "tests/temp_folder.h"

namespace reclaim {
namespace {

using test::RedisServer;
using test::run_until;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RedisTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    temp = std::make_unique<TempFolder>();
    folder = temp->path();
    CHECK(std::system(
              (source_path("tests/integration/stack/redis_tls.sh") + " " + folder).c_str()) == 0);
  }
  static void TearDownTestSuite() { temp.reset(); }

  static std::string file(const std::string& name) { return folder + "/" + name; }

  // Of a server that shows this certificate and demands none.
  static std::vector<std::string> shows(const std::string& certificate,
                                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--tls-cert-file",    file(certificate + ".pem"),
                                   "--tls-key-file",     file(certificate + ".key"),
                                   "--tls-ca-cert-file", file("ca.pem"),
                                   "--tls-auth-clients", "no"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static RedisOptions options_for(const RedisServer& server) {
    RedisOptions options = server.options();
    options.host = "localhost";
    options.tls.enabled = true;
    options.tls.ca_file = file("ca.pem");
    return options;
  }
  static void present(RedisOptions& options, const std::string& certificate) {
    options.tls.cert_file = file(certificate + ".pem");
    options.tls.key_file = file(certificate + ".key");
  }

  std::unique_ptr<RedisClient> client(const RedisOptions& options) {
    auto created = RedisClient::create(loop_.raw(), options, logger_);
    CHECK(created.ok());
    (*created)->start();
    return *std::move(created);
  }

  [[nodiscard]] std::string answer(RedisClient& client, std::vector<std::string> words) {
    std::optional<Result<RedisReply>> got;
    client.command(std::move(words), [&](Result<RedisReply> reply) { got = std::move(reply); });
    run_until(loop_, [&] { return got.has_value(); });
    if (!got) return "no answer";
    return got->ok() ? (*got)->text : got->error().what;
  }

  [[nodiscard]] bool connects(const RedisOptions& options) {
    const auto one = client(options);
    const bool done = run_until(
        loop_, [&] { return one->state().connected || !one->state().last_error.empty(); });
    EXPECT_EQ(one->state().last_error, "");
    return done && one->state().connected && answer(*one, {"PING"}) == "PONG";
  }

  [[nodiscard]] std::string error_of(const RedisOptions& options) {
    const auto failing = client(options);
    run_until(loop_, [&] { return !failing->state().last_error.empty(); });
    EXPECT_FALSE(failing->state().connected);
    return failing->state().last_error;
  }

  static std::unique_ptr<TempFolder> temp;
  static std::string folder;
  NullLogger logger_;
  uv::Loop loop_;
};

std::unique_ptr<TempFolder> RedisTlsTest::temp;
std::string RedisTlsTest::folder;

TEST_F(RedisTlsTest, AServerIsTrustedByItsNameOrItsAddress) {
  const RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  for (const char* host : {"localhost", "127.0.0.1"}) {
    options.host = host;
    const auto one = client(options);
    ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }))
        << one->state().last_error;
    EXPECT_EQ(answer(*one, {"SET", "key", host}), "OK");
    EXPECT_EQ(server.cli({"GET", "key"}), host);
    EXPECT_EQ(one->state().tls.version, "TLSv1.3");
    const std::int64_t left_ms = one->state().tls.ends_at.ms - SystemClock().now().wall.ms;
    EXPECT_GT(left_ms, 24 * 3'600'000);
    EXPECT_LE(left_ms, 48 * 3'600'000);
    EXPECT_EQ(one->state().tls.own_ends_at, WallMs{}) << "we showed none";
  }
}

TEST_F(RedisTlsTest, ACertificateThatDoesNotHoldIsRefusedWithItsReason) {
  struct Flaw {
    const char* certificate;
    const char* host;
    const char* why;
    const char* remedy;
  };
  const Flaw flaws[] = {
      {"expired", "localhost", "(CN = expired) expired at 20", "renew it"},
      {"elsewhere", "localhost", "is for elsewhere.example, 192.0.2.7 and not for localhost",
       "use a name that it has, or give the server a certificate with this one"},
      {"elsewhere", "127.0.0.1", "is for elsewhere.example, 192.0.2.7 and not for 127.0.0.1",
       "use a name that it has, or give the server a certificate with this one"},
      {"self-signed", "localhost",
       "(CN = self-signed, issued by CN = self-signed) is of no authority",
       "/ca.pem has; name the file of the authority in [redis] tls_ca_file"},
      {"other-client", "localhost",
       "(CN = other-client, issued by CN = other-ca) is of no authority",
       "/ca.pem has; name the file of the authority in [redis] tls_ca_file"},
  };
  for (const Flaw& flaw : flaws) {
    const RedisServer server(shows(flaw.certificate));
    RedisOptions options = options_for(server);
    options.host = flaw.host;
    EXPECT_THAT(
        error_of(options),
        AllOf(HasSubstr(fmt::format("cannot use Redis at {}:{}/0: the server's certificate ",
                                    flaw.host, options.port)),
              HasSubstr(flaw.why), HasSubstr(flaw.remedy)))
        << flaw.certificate;
  }
}

TEST_F(RedisTlsTest, WithoutAFileTheAuthoritiesOfTheSystemCount) {
  const RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  options.tls.ca_file = "";
  EXPECT_THAT(error_of(options), HasSubstr("is of no authority that this system has"));
}

TEST_F(RedisTlsTest, AServerWithoutTlsIsToldFromOneWithIt) {
  const RedisServer plain;
  EXPECT_THAT(error_of(options_for(plain)),
              AllOf(HasSubstr("no TLS handshake with the server"),
                    HasSubstr("name its tls-port in [redis] url, or write redis://")));
  const RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  options.tls.enabled = false;
  EXPECT_THAT(error_of(options), HasSubstr("write rediss://"));
}

TEST_F(RedisTlsTest, AServerThatDoesNotAnswerTheHandshakeIsGivenUp) {
  RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  options.connect_timeout_ms = 200;
  server.freeze();
  EXPECT_THAT(error_of(options), HasSubstr("no answer within 200 ms, nor a TLS handshake"));
  server.thaw();
}

TEST_F(RedisTlsTest, AServerThatDemandsACertificateGetsOne) {
  for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
    const RedisServer server(
        shows("server", {"--tls-auth-clients", "yes", "--tls-protocols", version}));
    RedisOptions options = options_for(server);
    EXPECT_THAT(error_of(options), AllOf(HasSubstr("demands a client certificate"),
                                         HasSubstr("set [redis] tls_cert_file and tls_key_file")))
        << version;
    present(options, "other-client");
    EXPECT_THAT(error_of(options),
                AllOf(HasSubstr("refuses the client certificate"), HasSubstr("other-client.pem"),
                      HasSubstr("of its tls-ca-cert-file")))
        << version;
    present(options, "client");
    const auto one = client(options);
    ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; })) << version;
    EXPECT_EQ(answer(*one, {"PING"}), "PONG") << version;
    const std::int64_t left_ms = one->state().tls.own_ends_at.ms - SystemClock().now().wall.ms;
    EXPECT_GT(left_ms, 48 * 3'600'000) << version;
    EXPECT_LE(left_ms, 72 * 3'600'000) << version;
  }
}

TEST_F(RedisTlsTest, AUserLogsIn) {
  const RedisServer server(shows("server"));
  ASSERT_EQ(server.cli({"ACL", "SETUSER", "reclaim", "on", ">secret", "~*", "+@all"}), "OK");
  RedisOptions options = options_for(server);
  options.username = "reclaim";
  options.password = "wrong";
  EXPECT_THAT(error_of(options), HasSubstr("check user and password in [redis] url"));
  options.password = "secret";
  const auto one = client(options);
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  EXPECT_EQ(answer(*one, {"ACL", "WHOAMI"}), "reclaim");
}

TEST_F(RedisTlsTest, FilesThatCannotBeUsedAreNamed) {
  const RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  options.tls.ca_file = file("nothing.pem");
  EXPECT_THAT(error_of(options), HasSubstr("[redis] tls_ca_file " + file("nothing.pem") +
                                           ": No such file or directory; name a PEM file"));
  options = options_for(server);
  present(options, "nothing");
  EXPECT_THAT(error_of(options), HasSubstr("[redis] tls_cert_file " + file("nothing.pem")));
  present(options, "client");
  options.tls.key_file = file("nothing.key");
  EXPECT_THAT(error_of(options), HasSubstr("[redis] tls_key_file " + file("nothing.key") +
                                           ": No such file or directory; correct the path"));
  // Nobody writes to it, and nothing waits for that.
  options.tls.key_file = file("pipe.key");
  ASSERT_EQ(::mkfifo(options.tls.key_file.c_str(), 0600), 0);
  EXPECT_THAT(error_of(options), HasSubstr("it is no regular file; name one"));
  options.tls.key_file = file("server.key");
  EXPECT_THAT(error_of(options), HasSubstr("it is not the key of the certificate"));
  options.tls.key_file = file("client.pem");
  EXPECT_THAT(error_of(options), HasSubstr("a private key in PEM is needed"));
  options.tls.key_file = file("secret.key");
  ASSERT_EQ(std::system(fmt::format("openssl ec -in {} -aes128 -passout pass:x -out {} 2>/dev/null",
                                    file("client.key"), file("secret.key"))
                            .c_str()),
            0);
  ASSERT_EQ(chmod(file("secret.key").c_str(), 0600), 0);
  EXPECT_THAT(error_of(options), HasSubstr("it needs a pass phrase; give a key without one"));
}

TEST_F(RedisTlsTest, AKeyThatOthersMayUseIsRefused) {
  const RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  present(options, "client");
  for (const mode_t open : {0604U, 0620U, 0602U}) {
    ASSERT_EQ(chmod(options.tls.key_file.c_str(), open), 0);
    EXPECT_THAT(error_of(options),
                AllOf(HasSubstr(fmt::format("may use this private key (mode {:04o})", open)),
                      HasSubstr("chmod 0600 it")));
  }
  for (const mode_t closed : {0640U, 0600U}) {
    ASSERT_EQ(chmod(options.tls.key_file.c_str(), closed), 0);
    EXPECT_TRUE(connects(options));
  }
}

TEST_F(RedisTlsTest, AFileThatWasReplacedCountsAtTheNextConnection) {
  RedisServer server(shows("server"));
  RedisOptions options = options_for(server);
  options.tls.ca_file = file("in-use.pem");
  std::filesystem::copy_file(file("ca.pem"), options.tls.ca_file);
  const auto one = client(options);
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  // Written beside and renamed, as tools that renew certificates do.
  const auto replace_by = [&](const std::string& other) {
    std::filesystem::copy_file(file(other), file("new.pem"));
    std::filesystem::rename(file("new.pem"), options.tls.ca_file);
    server.kill_hard();
    server.start();
  };
  replace_by("other-ca.pem");
  ASSERT_TRUE(run_until(loop_, [&] {
    return one->state().last_error.find("is of no authority") != std::string::npos;
  }));
  replace_by("ca.pem");
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  EXPECT_EQ(answer(*one, {"PING"}), "PONG");
}

// Of many TLS records, and more than the socket's buffers hold.
TEST_F(RedisTlsTest, LongCommandsAndAnswersPass) {
  const RedisServer server(shows("server"));
  const auto one = client(options_for(server));
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  std::string value;
  for (int i = 0; i < 12; ++i) value += std::string(1'000'000, 'x');
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(answer(*one, {"SET", "key", value}), "OK");
    EXPECT_EQ(answer(*one, {"GET", "key"}).size(), value.size());
  }
  int answers = 0;
  for (int i = 0; i < 100; ++i) {
    one->command({"SET", "key", value.substr(0, 100'000)},
                 [&](const Result<RedisReply>& reply) { answers += reply.ok() ? 1 : 0; });
  }
  EXPECT_TRUE(run_until(loop_, [&] { return answers == 100; }));
  EXPECT_EQ(one->state().connects, 1U);
}

TEST_F(RedisTlsTest, AServerThatComesBackIsConnectedToAgain) {
  RedisServer server(shows("server"));
  const auto one = client(options_for(server));
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  server.kill_hard();
  ASSERT_TRUE(run_until(loop_, [&] { return !one->state().connected; }));
  EXPECT_THAT(one->state().last_error, AllOf(HasSubstr("lost Redis at"), Not(HasSubstr("TLS"))));
  server.start();
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  EXPECT_EQ(answer(*one, {"PING"}), "PONG");
}

TEST_F(RedisTlsTest, TheStoreKeepsItsContract) {
  test::StoreOnRedis redis(shows("server"));
  redis.options.redis = options_for(redis.server);
  redis.open();
  ASSERT_TRUE(redis.connected()) << redis.store->state().last_error;
  for (const contract::Check& check : contract::kChecks) {
    check.run(redis.world(std::string("host-") + check.name));
  }
}

TEST_F(RedisTlsTest, SentinelsAndTheirMasterAreVerified) {
  const RedisServer master(shows("server"));
  std::vector<std::string> words{std::to_string(master.options().port), "1"};
  for (const std::string& word : shows("server", {"--tls-replication", "yes"})) {
    words.push_back(word);
  }
  const RedisServer sentinel(words, "sentinel");
  RedisOptions options = options_for(sentinel);
  options.sentinels = {{"localhost", options.port}};
  options.sentinel_service = "cloud";
  const auto one = client(options);
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; })) << one->state().last_error;
  EXPECT_EQ(answer(*one, {"SET", "key", "by sentinel"}), "OK");
  EXPECT_EQ(master.cli({"GET", "key"}), "by sentinel");
  options.tls.ca_file = file("other-ca.pem");
  EXPECT_THAT(error_of(options),
              AllOf(HasSubstr("no sentinel names a master"), HasSubstr("is of no authority")));
}

TEST_F(RedisTlsTest, EveryNodeOfAClusterIsVerified) {
  const test::RedisNodes nodes(0, shows("server", {"--tls-cluster", "yes"}));
  RedisOptions options = nodes.options();
  options.tls.enabled = true;
  options.tls.ca_file = file("ca.pem");
  test::StoreOn redis(options);
  ASSERT_TRUE(redis.connected()) << redis.store->state().last_error;
  EXPECT_NE(redis.store->state().tls.version, "");
  for (const char* host : {"compute-1", "compute-2", "compute-3", "compute-4"}) {
    contract::what_is_saved_is_loaded(redis.world(host));
  }
  redis.options.redis.tls.ca_file = file("other-ca.pem");
  redis.open();
  run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); });
  EXPECT_FALSE(redis.store->state().connected);
  EXPECT_THAT(redis.store->state().last_error,
              AllOf(HasSubstr("no node tells the slots"), HasSubstr("is of no authority")));
}

}  // namespace
}  // namespace reclaim
