// The client by way of real sentinels, whose master is killed, stopped or replaced.
#include "state/redis/sentinel.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/redis_server.h"

namespace reclaim {
namespace {

using test::RedisServer;
using test::run_until;
using testing::HasSubstr;

constexpr int kFailoverMs = 120'000;  // a second, and as long as a busy machine makes of it

std::string port_of(const RedisServer& server) {
  return std::to_string(server.options().port);
}

RedisAddress address_of(const RedisServer& server) {
  return {"127.0.0.1", server.options().port};
}

class RedisSentinelTest : public testing::Test {
 protected:
  // A master with a replica, and sentinels that may put one in the place of the other.
  void start_service(int sentinels, const std::string& quorum) {
    replica_ = std::make_unique<RedisServer>(
        std::vector<std::string>{"--replicaof", "127.0.0.1 " + port_of(master_)});
    for (int i = 0; i < sentinels; ++i) add_sentinel(quorum);
    ASSERT_TRUE(run_until(loop_, [this] {
      return master_.cli({"INFO", "replication"}).find("state=online") != std::string::npos;
    }));
    // A sentinel that does not know the replica yet has nothing to put in the master's place.
    for (const auto& sentinel : sentinels_) {
      ASSERT_TRUE(run_until(loop_, [&] {
        return sentinel->cli({"SENTINEL", "REPLICAS", "cloud"}).find(port_of(*replica_)) !=
               std::string::npos;
      }));
    }
  }

  void add_sentinel(const std::string& quorum) {
    sentinels_.push_back(std::make_unique<RedisServer>(
        std::vector<std::string>{port_of(master_), quorum}, "sentinel"));
  }

  [[nodiscard]] RedisOptions options() const {
    RedisOptions options = master_.options();
    options.host = "";
    options.port = 0;
    options.sentinel_service = "cloud";
    options.sentinels = {{"127.0.0.1", 1}};  // where nobody listens: the next one is asked
    for (const auto& sentinel : sentinels_) options.sentinels.push_back(address_of(*sentinel));
    return options;
  }

  std::unique_ptr<RedisClient> client(const RedisOptions& options) {
    auto created = RedisClient::create(loop_.raw(), options, logger_);
    CHECK(created.ok());
    (*created)->start();
    return *std::move(created);
  }

  [[nodiscard]] Result<RedisReply> ask(RedisClient& client, std::vector<std::string> words) {
    std::optional<Result<RedisReply>> answer;
    client.command(std::move(words), [&](Result<RedisReply> reply) { answer = std::move(reply); });
    run_until(loop_, [&] { return answer.has_value(); });
    return answer ? *answer : Result<RedisReply>(Error{Errc::failed, "no answer"});
  }

  // Writes until it is taken, as the worker does.
  [[nodiscard]] bool writes(RedisClient& client, const std::string& value) {
    return run_until(
        loop_,
        [&] {
          return ask(client, {"SET", "key", value}).ok();
        },
        kFailoverMs);
  }

  [[nodiscard]] std::string error_of(const RedisOptions& options) {
    const auto failing = client(options);
    run_until(loop_, [&] { return !failing->state().last_error.empty(); });
    return failing->state().last_error;
  }

  NullLogger logger_;
  uv::Loop loop_;
  RedisServer master_;
  std::unique_ptr<RedisServer> replica_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

TEST_F(RedisSentinelTest, AKilledMasterIsLeftForTheOneThatTakesItsPlace) {
  start_service(3, "2");
  const auto one = client(options());
  ASSERT_TRUE(writes(*one, "before"));
  EXPECT_THAT(master_.cli({"GET", "key"}), HasSubstr("before"));
  master_.kill_hard();
  ASSERT_TRUE(writes(*one, "after"));
  EXPECT_THAT(replica_->cli({"GET", "key"}), HasSubstr("after"));
}

TEST_F(RedisSentinelTest, AMasterThatHangsIsLeftAndNotGoneBackTo) {
  start_service(1, "1");
  RedisOptions impatient = options();
  impatient.command_timeout_ms = 1'000;
  const auto one = client(impatient);
  ASSERT_TRUE(writes(*one, "before"));
  master_.freeze();
  ASSERT_TRUE(writes(*one, "after"));
  EXPECT_THAT(replica_->cli({"GET", "key"}), HasSubstr("after"));
  master_.thaw();
  ASSERT_TRUE(run_until(
      loop_, [&] { return master_.cli({"ROLE"}).find("slave") != std::string::npos; },
      kFailoverMs));
  ASSERT_TRUE(writes(*one, "later"));
  EXPECT_THAT(replica_->cli({"GET", "key"}), HasSubstr("later"));
}

TEST_F(RedisSentinelTest, AMasterThatLivesOnIsLeftWhenTheSentinelsNameAnother) {
  add_sentinel("1");
  const RedisServer other;
  const auto one = client(options());
  ASSERT_TRUE(writes(*one, "before"));
  sentinels_.front()->cli({"SENTINEL", "REMOVE", "cloud"});
  sentinels_.front()->cli({"SENTINEL", "MONITOR", "cloud", "127.0.0.1", port_of(other), "1"});
  ASSERT_TRUE(run_until(
      loop_, [&] { return one->state().connects == 2; }, kFailoverMs));
  ASSERT_TRUE(writes(*one, "after"));
  EXPECT_THAT(other.cli({"GET", "key"}), HasSubstr("after"));
  EXPECT_THAT(master_.cli({"GET", "key"}), HasSubstr("before"));
}

TEST_F(RedisSentinelTest, AServerThatBecomesAReplicaIsLeft) {
  const RedisServer other;
  RedisOptions direct = master_.options();
  const auto one = client(direct);
  ASSERT_TRUE(writes(*one, "before"));
  master_.cli({"REPLICAOF", "127.0.0.1", port_of(other)});
  const auto refused = ask(*one, {"SET", "key", "x"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("READONLY"));
  EXPECT_THAT(one->state().last_error, HasSubstr("it has become a replica"));
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connects == 2; }));
}

TEST_F(RedisSentinelTest, WhatIsCalledTheMasterIsAskedWhetherItIs) {
  const RedisServer other;
  master_.cli({"REPLICAOF", "127.0.0.1", port_of(other)});
  const auto one = client(master_.options());
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connected; }));
  const auto role = ask(*one, {"ROLE"});
  ASSERT_TRUE(role.ok());
  EXPECT_THAT(check_is_master(*role, "the sentinel").error().what,
              HasSubstr("says that it is a slave"));
  const auto master = client(other.options());
  ASSERT_TRUE(run_until(loop_, [&] { return master->state().connected; }));
  EXPECT_TRUE(check_is_master(*ask(*master, {"ROLE"}), "the sentinel").ok());
}

TEST_F(RedisSentinelTest, TheSentinelsHaveALoginOfTheirOwn) {
  add_sentinel("1");
  sentinels_.front()->cli({"CONFIG", "SET", "requirepass", "watch"});
  sentinels_.front()->cli({"ACL", "SETUSER", "default", "resetpass", ">watch"});
  EXPECT_THAT(error_of(options()), HasSubstr("NOAUTH"));
  EXPECT_THAT(error_of(options()), HasSubstr("check sentinel_username and sentinel_password"));
  RedisOptions known = options();
  known.sentinel_password = "watch";
  const auto one = client(known);
  ASSERT_TRUE(writes(*one, "known"));
}

TEST_F(RedisSentinelTest, WhatIsWrongIsSaidOfEachSentinel) {
  add_sentinel("1");
  RedisOptions wrong = options();
  wrong.sentinel_service = "clouds";
  const std::string error = error_of(wrong);
  EXPECT_THAT(error, HasSubstr(fmt::format("cannot use Redis at 'clouds' of the sentinels "
                                           "127.0.0.1:1, 127.0.0.1:{}: no sentinel names a master",
                                           sentinels_.front()->options().port)));
  EXPECT_THAT(error, HasSubstr("Sentinel at 127.0.0.1:1: "));
  EXPECT_THAT(error, HasSubstr("it knows no service 'clouds'"));
}

TEST_F(RedisSentinelTest, EndsInTheMidstOfASearch) {
  add_sentinel("1");
  for (int turns = 0; turns < 12; ++turns) {
    const auto one = client(options());
    int left = turns;
    run_until(loop_, [&] { return left-- <= 0; });
  }
}

}  // namespace
}  // namespace reclaim
