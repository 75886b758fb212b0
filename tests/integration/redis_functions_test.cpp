// RedisStore and the functions of Redis: who loads them, what a worker does without them, and that
// a host's login makes none of them go on for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "state/redis/library.h"
#include "tests/integration/documented_acl.h"
#include "tests/integration/store_on_redis.h"

namespace reclaim {
namespace {

using test::documented_acl;
using test::documented_user;
using test::StoreOnRedis;
using ::testing::HasSubstr;

const RedisLibrary& ours() {
  return RedisLibrary::ours();
}

std::size_t libraries_of(const StoreOnRedis& redis) {
  const std::string list = redis.server.cli({"FUNCTION", "LIST"});
  std::size_t count = 0;
  for (std::size_t at = 0; (at = list.find("library_name", at)) != std::string::npos; ++at) ++count;
  return count;
}

void log_in(StoreOnRedis& redis, const std::string& user) {
  redis.options.redis.username = user;
  redis.options.redis.password = "PASSWORD";
  redis.open();
}

Result<std::size_t> install(StoreOnRedis& redis) {
  return contract::ask<std::size_t>(
      redis.world("x"), [&](Callback<std::size_t> done) { redis.store->install(std::move(done)); });
}

bool is_refused(StoreOnRedis& redis) {
  return test::run_until(redis.loop, [&] {
    return !redis.store->state().connected && redis.store->state().lua == RedisLua::missing;
  });
}

void keep_the_contract(StoreOnRedis& redis, RedisLua lua) {
  for (const contract::Check& check : contract::kChecks) {
    SCOPED_TRACE(check.name);
    ASSERT_TRUE(redis.connected()) << redis.store->state().last_error;
    ASSERT_EQ(redis.store->state().lua, lua);
    check.run(redis.world(std::string("host-") + check.name));
  }
}

TEST(RedisFunctions, AServerWithoutThemKeepsTheContractByScripts) {
  StoreOnRedis redis({"--rename-command", "FCALL", "", "--rename-command", "FUNCTION", ""});
  keep_the_contract(redis, RedisLua::server_has_none);
  redis.server.cli({"SCRIPT", "FLUSH"});
  const contract::World world = redis.world("compute-1");
  EXPECT_TRUE(contract::lock(world, "worker-1", 60'000).ok());
}

TEST(RedisFunctions, AServerWithoutThemIsWarnedOfOnceHoweverOftenOneConnects) {
  StoreOnRedis redis({"--rename-command", "FCALL", "", "--rename-command", "FUNCTION", ""});
  test::Told warnings(LogLevel::warning);
  RedisGreeting greeting;
  greeting.calls = true;
  auto login = Redis::create(redis.loop.raw(), redis.server.options(), warnings, greeting);
  ASSERT_TRUE(login.ok());
  (*login)->start();
  for (std::uint64_t connects = 1; connects <= 3; ++connects) {
    ASSERT_TRUE(
        test::run_until(redis.loop, [&] { return (*login)->state().connects == connects; }));
    redis.server.cli({"CLIENT", "KILL", "TYPE", "normal"});
  }
  EXPECT_EQ(std::count_if(warnings.all.begin(), warnings.all.end(),
                          [](const std::string& text) {
                            return text.find("install Redis 7.0 or later") != std::string::npos;
                          }),
            1);
}

// And no scripts either: a login that may send ours may send any.
TEST(RedisFunctions, AUserWhoMayCallNoneIsRefusedUntilItMay) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  std::vector<std::string> words = documented_acl("compute-1");
  std::erase(words, "+fcall");
  words.insert(words.end(), {"+eval", "+evalsha"});
  ASSERT_EQ(redis.server.cli(words), "OK");
  log_in(redis, "reclaim-compute-1");
  ASSERT_TRUE(
      test::run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); }));
  EXPECT_THAT(redis.store->state().last_error, HasSubstr("may not call functions: make it as"));
  ASSERT_EQ(redis.server.cli(documented_acl("compute-1")), "OK");
  EXPECT_TRUE(redis.connected());
}

TEST(RedisFunctions, AHostGoesOnByItselfOnceAnOperatorHasInstalledThem) {
  StoreOnRedis redis;
  ASSERT_EQ(redis.server.cli(documented_acl("compute-1")), "OK");
  ASSERT_EQ(redis.server.cli(documented_user("reclaim-operator")), "OK");
  log_in(redis, "reclaim-compute-1");
  ASSERT_TRUE(is_refused(redis));
  EXPECT_THAT(redis.store->state().last_error, HasSubstr("`reclaim redis install`"));
  const contract::World world = redis.world("compute-1");
  EXPECT_EQ(
      contract::code_of(contract::save(world, contract::record_of(world, 1, 1, Stage::error))),
      Errc::unavailable);
  test::StoreOn tool(redis.server.options());
  tool.options.redis.username = "reclaim-operator";
  tool.options.redis.password = "PASSWORD";
  tool.options.writes_schema = false;
  tool.open();
  ASSERT_TRUE(tool.connected()) << tool.store->state().last_error;
  EXPECT_TRUE(contract::load(tool.world("x")).ok());
  EXPECT_EQ(redis.server.cli({"GET", "reclaim:schema"}), "") << "a tool writes it when it is told";
  for (int again = 0; again < 2; ++again) {
    const auto servers = contract::ask<std::size_t>(
        tool.world("x"), [&](auto done) { tool.store->install(std::move(done)); });
    ASSERT_TRUE(servers.ok()) << servers.error().what;
    EXPECT_EQ(*servers, 1U);
    EXPECT_EQ(libraries_of(redis), 1U);
  }
  EXPECT_EQ(redis.server.cli({"GET", "reclaim:schema"}), "2");
  ASSERT_TRUE(redis.connected());
  EXPECT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());
  EXPECT_THAT(install(redis).error().what, HasSubstr("NOPERM")) << "a host's login";
}

TEST(RedisFunctions, RemovedOnesAreLoadedAgainByWhoMayAndMissedByWhoMayNot) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_EQ(redis.server.cli({"FUNCTION", "FLUSH"}), "OK");
  EXPECT_EQ(contract::lock(world, "worker-1", 60'000).error().code, Errc::unavailable);
  ASSERT_TRUE(redis.connected());
  EXPECT_TRUE(contract::lock(world, "worker-1", 60'000).ok());
  // Of another version, beside ours.
  redis.server.cli({"FUNCTION", "LOAD",
                    "#!lua name=reclaim_0\nredis.register_function('reclaim_save_0', function() "
                    "return 'another' end)"});
  EXPECT_EQ(libraries_of(redis), 2U);
  EXPECT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());

  ASSERT_EQ(redis.server.cli(documented_acl("compute-1")), "OK");
  log_in(redis, "reclaim-compute-1");
  ASSERT_TRUE(redis.connected());
  ASSERT_EQ(redis.server.cli({"FUNCTION", "DELETE", ours().name()}), "OK");
  EXPECT_EQ(
      contract::code_of(contract::save(world, contract::record_of(world, 1, 2, Stage::error))),
      Errc::unavailable);
  EXPECT_TRUE(is_refused(redis));
}

TEST(RedisFunctions, NoCallOfAHostsLoginGoesOnForEver) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  ASSERT_TRUE(install(redis).ok());
  ASSERT_EQ(redis.server.cli(documented_acl("evil")), "OK");
  RedisOptions options = redis.server.options();
  options.username = "reclaim-evil";
  options.password = "PASSWORD";
  options.command_timeout_ms = 30'000;  // a call that goes on ends here
  auto login = Redis::create(redis.loop.raw(), options, redis.logger);
  ASSERT_TRUE(login.ok());
  (*login)->start();
  ASSERT_TRUE(test::run_until(redis.loop, [&] { return (*login)->state().connected; }));
  const auto said = [&](const std::vector<std::string>& words) {
    const auto answer = contract::ask<RedisReply>(
        redis.world("evil"),
        [&](Callback<RedisReply> done) { (*login)->command(words, std::move(done)); });
    return answer.ok() ? "accepted" : answer.error().what;
  };
  const auto call = [&](RedisScript script, const std::vector<std::string>& keys,
                        const std::vector<std::string>& args) {
    std::vector<std::string> words{"FCALL", ours().function(script), std::to_string(keys.size())};
    for (const std::string& key : keys) words.push_back("reclaim:{evil}:" + key);
    words.insert(words.end(), args.begin(), args.end());
    return said(words);
  };
  const std::vector<std::string> keys{"device", "devices", "journal", "lock", "outbox", "dropped"};
  const auto save = [&](const std::string& journal, const std::string& posts) {
    return call(RedisScript::save, keys,
                {"1", "0", "10", journal, posts, "10", "a", "b", "address", "name", "value"});
  };
  EXPECT_EQ(save("2", "0"), "accepted");
  for (const char* absurd : {"9007199254740992", "1e300", "inf", "-inf", "nan", "-8", "0.5", "12",
                             "0x7fffffff", "", "many"}) {
    EXPECT_THAT(save("2", absurd), HasSubstr("the counts do not fit the arguments")) << absurd;
    EXPECT_THAT(save(absurd, "0"), HasSubstr("the counts do not fit the arguments")) << absurd;
    if (std::string(absurd) == "12") continue;
    EXPECT_THAT(call(RedisScript::take_orders, {"orders", "taken"}, {absurd, "1000"}),
                HasSubstr("a count from 1 to 1000 is allowed"))
        << absurd;
    EXPECT_THAT(call(RedisScript::read_outbox, {"outbox", "dropped"}, {absurd, "1000"}),
                HasSubstr("a count from 1 to 1000 is allowed"))
        << absurd;
  }
  // Lua cuts the places of arguments at 32 bits: these stand for 2 and 0, and for 5 * 10^11 posts.
  EXPECT_THAT(save("-4294967295998", "536870912000"),
              HasSubstr("the counts do not fit the arguments"));
  // A text in which a pattern without an anchor would be searched for from each of its places.
  EXPECT_EQ(said({"SET", "reclaim:{evil}:lock", std::string(4'000'000, '1') + "x"}), "accepted");
  EXPECT_THAT(call(RedisScript::renew_lock, {"lock"}, {"5", "1000"}), "accepted");
  EXPECT_THAT(call(RedisScript::release_lock, {"lock"}, {"5"}), "accepted");
  EXPECT_THAT(call(RedisScript::acquire_lock, {"lock", "fence"}, {"me", "1000", "1"}), "accepted");
  EXPECT_EQ(said({"SET", "reclaim:{evil}:lock", std::string(4'000'000, '1') + "x"}), "accepted");
  EXPECT_EQ(call(RedisScript::save, keys,
                 {"2", "5", "10", "2", "0", "10", "a", "b", "address", "name", "value"}),
            "accepted");
}

}  // namespace
}  // namespace reclaim
