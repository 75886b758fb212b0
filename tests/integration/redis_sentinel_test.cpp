// The client by way of real sentinels, whose master is killed, stopped or replaced.
#include "state/redis/sentinel.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/redis_sentinels.h"

namespace reclaim {
namespace {

using test::port_of;
using test::RedisSentinels;
using test::RedisServer;
using test::run_until;
using ::testing::HasSubstr;

constexpr int kFailoverMs = 120'000;  // a second, and as long as a busy machine makes of it

class RedisSentinelTest : public ::testing::Test {
 protected:
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
  RedisSentinels redis_;
};

TEST_F(RedisSentinelTest, AKilledMasterIsLeftForTheOneThatTakesItsPlace) {
  redis_.start(3, 2);
  const auto one = client(redis_.options());
  ASSERT_TRUE(writes(*one, "before"));
  EXPECT_THAT(redis_.master().cli({"GET", "key"}), HasSubstr("before"));
  redis_.master().kill_hard();
  ASSERT_TRUE(writes(*one, "after"));
  EXPECT_THAT(redis_.replica().cli({"GET", "key"}), HasSubstr("after"));
}

TEST_F(RedisSentinelTest, AMasterThatHangsIsLeftAndNotGoneBackTo) {
  redis_.start(1, 1);
  RedisOptions impatient = redis_.options();
  impatient.command_timeout_ms = 1'000;
  const auto one = client(impatient);
  ASSERT_TRUE(writes(*one, "before"));
  redis_.master().freeze();
  ASSERT_TRUE(writes(*one, "after"));
  EXPECT_THAT(redis_.replica().cli({"GET", "key"}), HasSubstr("after"));
  redis_.master().thaw();
  ASSERT_TRUE(run_until(
      loop_, [&] { return redis_.master().cli({"ROLE"}).find("slave") != std::string::npos; },
      kFailoverMs));
  ASSERT_TRUE(writes(*one, "later"));
  EXPECT_THAT(redis_.replica().cli({"GET", "key"}), HasSubstr("later"));
}

TEST_F(RedisSentinelTest, AMasterThatLivesOnIsLeftWhenTheSentinelsNameAnother) {
  redis_.add_sentinel(1);
  const RedisServer other;
  const auto one = client(redis_.options());
  ASSERT_TRUE(writes(*one, "before"));
  redis_.sentinel(0).cli({"SENTINEL", "REMOVE", "cloud"});
  redis_.sentinel(0).cli({"SENTINEL", "MONITOR", "cloud", "127.0.0.1", port_of(other), "1"});
  ASSERT_TRUE(run_until(
      loop_, [&] { return one->state().connects >= 2; }, kFailoverMs));
  ASSERT_TRUE(writes(*one, "after"));
  EXPECT_THAT(other.cli({"GET", "key"}), HasSubstr("after"));
  EXPECT_THAT(redis_.master().cli({"GET", "key"}), HasSubstr("before"));
}

TEST_F(RedisSentinelTest, AServerThatBecomesAReplicaIsLeft) {
  const RedisServer other;
  RedisOptions direct = redis_.master().options();
  const auto one = client(direct);
  ASSERT_TRUE(writes(*one, "before"));
  redis_.master().cli({"REPLICAOF", "127.0.0.1", port_of(other)});
  const auto refused = ask(*one, {"SET", "key", "x"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("READONLY"));
  EXPECT_THAT(one->state().last_error, HasSubstr("it has become a replica"));
  ASSERT_TRUE(run_until(loop_, [&] { return one->state().connects >= 2; }));
}

TEST_F(RedisSentinelTest, WhatIsCalledTheMasterIsAskedWhetherItIs) {
  const RedisServer other;
  redis_.master().cli({"REPLICAOF", "127.0.0.1", port_of(other)});
  const auto one = client(redis_.master().options());
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
  redis_.add_sentinel(1);
  redis_.sentinel(0).cli({"CONFIG", "SET", "requirepass", "watch"});
  redis_.sentinel(0).cli({"ACL", "SETUSER", "default", "resetpass", ">watch"});
  EXPECT_THAT(error_of(redis_.options()), HasSubstr("NOAUTH"));
  EXPECT_THAT(error_of(redis_.options()),
              HasSubstr("check sentinel_username and sentinel_password"));
  RedisOptions known = redis_.options();
  known.sentinel_password = "watch";
  const auto one = client(known);
  ASSERT_TRUE(writes(*one, "known"));
}

TEST_F(RedisSentinelTest, WhatIsWrongIsSaidOfEachSentinel) {
  redis_.add_sentinel(1);
  RedisOptions wrong = redis_.options();
  wrong.sentinel_service = "clouds";
  const std::string error = error_of(wrong);
  EXPECT_THAT(error, HasSubstr(fmt::format("cannot use Redis at 'clouds' of the sentinels "
                                           "127.0.0.1:1, 127.0.0.1:{}: no sentinel names a master",
                                           redis_.sentinel(0).options().port)));
  EXPECT_THAT(error, HasSubstr("Sentinel at 127.0.0.1:1: "));
  EXPECT_THAT(error, HasSubstr("it knows no service 'clouds'"));
}

TEST_F(RedisSentinelTest, EndsInTheMidstOfASearch) {
  redis_.add_sentinel(1);
  for (int turns = 0; turns < 12; ++turns) {
    const auto one = client(redis_.options());
    int left = turns;
    run_until(loop_, [&] { return left-- <= 0; });
  }
}

}  // namespace
}  // namespace reclaim
