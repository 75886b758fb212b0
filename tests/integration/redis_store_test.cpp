// The Store on a real Redis: the contract every store keeps, and what only Redis can do to us.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/integration/store_on_redis.h"

namespace reclaim {
namespace {

using test::StoreOnRedis;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RedisStoreContract : public ::testing::TestWithParam<contract::Check> {};

TEST_P(RedisStoreContract, Holds) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  GetParam().run(redis.world("compute-1"));
}

INSTANTIATE_TEST_SUITE_P(All, RedisStoreContract, ::testing::ValuesIn(contract::kChecks),
                         [](const auto& check) { return std::string(check.param.name); });

// The second call is that of a worker whose first one was carried out and its answer lost: it has
// not read the message, and nobody died with it.
TEST(RedisStore, AMarkOfAMessageIsSeenByTheNextWorkerUntilItIsTakenAway) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  contract::World world = redis.world("compute-1");
  const std::string name = message_uuid("a body");
  const auto mark = [&] {
    return contract::ask<bool>(
        world, [&](Callback<bool> done) { redis.store->mark_in_hand(name, std::move(done)); });
  };
  EXPECT_TRUE(*mark());
  EXPECT_TRUE(*mark());
  world.restart();
  EXPECT_FALSE(*mark());
  ASSERT_TRUE(contract::ask<Ok>(
      world, [&](Callback<Ok> done) { redis.store->clear_in_hand(name, std::move(done)); }));
  EXPECT_TRUE(*mark());
}

TEST(RedisStore, HoweverManyArqsWereWrittenTheyAreLoaded) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  constexpr std::size_t kCount = 17'000;
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    Arq arq;
    arq.uuid = "forged-" + std::to_string(i);
    arq.state = ArqState::bound;
    arq.other_info = R"({"more":")" + std::string(500, 'x') + "\"}";
    redis.store->save_arq("compute-1", arq, [&answered](const Result<Ok>&) { ++answered; });
    if (i % 100 == 99) world.run_until([&] { return answered == i + 1; });
  }
  const auto loaded = contract::ask<std::vector<Arq>>(world, [&](Callback<std::vector<Arq>> done) {
    redis.store->load_arqs("compute-1", std::move(done));
  });
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(loaded->size(), kCount);
}

TEST(RedisStore, KeysAreAsDocumented) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  contract::what_is_saved_is_loaded(world);
  ASSERT_TRUE(contract::lock(world, "worker-1", 60'000).ok());
  ASSERT_TRUE(contract::push(world, "instance.delete.end").ok());
  const auto cli = [&](const std::vector<std::string>& words) { return redis.server.cli(words); };
  EXPECT_EQ(cli({"GET", "reclaim:schema"}), "2");
  EXPECT_EQ(cli({"HGET", "reclaim:{compute-1}:device:0000:01:01.0", "device_state"}),
            "pending_cleaning");
  EXPECT_EQ(cli({"HLEN", "reclaim:{compute-1}:device:0000:01:01.0"}),
            std::to_string(encode_record(Record{}).size()));
  EXPECT_EQ(cli({"SCARD", "reclaim:{compute-1}:devices"}), "2");
  EXPECT_THAT(cli({"GET", "reclaim:{compute-1}:lock:0000:01:01.0"}),
              ::testing::StartsWith("worker-1 "));
  EXPECT_EQ(cli({"XLEN", "reclaim:{compute-1}:journal"}), "2");
  const std::string journal = cli({"XRANGE", "reclaim:{compute-1}:journal", "-", "+"});
  EXPECT_THAT(journal, HasSubstr("pending_cleaning"));
  EXPECT_THAT(journal, HasSubstr("2025-11-20T12:00:00.000Z"));
  EXPECT_THAT(cli({"XRANGE", "reclaim:{compute-1}:kicks", "-", "+"}),
              HasSubstr("instance.delete.end"));
  // A field that a newer version had written does not outlive our next save.
  cli({"HSET", "reclaim:{compute-1}:device:0000:01:01.0", "stale", "x"});
  cli({"PEXPIRE", "reclaim:{compute-1}:device:0000:01:01.0", "600000"});
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 2, Stage::error)).ok());
  EXPECT_EQ(cli({"HEXISTS", "reclaim:{compute-1}:device:0000:01:01.0", "stale"}), "0");
  EXPECT_GT(std::stoll(cli({"PTTL", "reclaim:{compute-1}:device:0000:01:01.0"})), 600'000);
}

TEST(RedisStore, ARecordThatCannotBeReadIsShownAsDamagedAndTheOthersAsTheyAre) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 2, 1, Stage::error)).ok());
  const std::string key = "reclaim:{compute-1}:device:0000:01:02.0";
  redis.server.cli({"HDEL", key, "serial"});
  const auto damaged = contract::load(world);
  ASSERT_TRUE(damaged.ok()) << damaged.error().what;
  ASSERT_EQ(damaged->size(), 2U);
  EXPECT_EQ(damaged->front(), contract::record_of(world, 1, 1, Stage::error));
  EXPECT_EQ(to_string(damaged->back().address), "0000:01:02.0");
  EXPECT_EQ(damaged->back().stage, Stage::error);
  EXPECT_THAT(damaged->back().damage, HasSubstr(key + ": field 'serial' is missing"));
  EXPECT_EQ(damaged->back().last_error, damaged->back().damage);
  // A key of another type.
  redis.server.cli({"DEL", key});
  redis.server.cli({"SET", key, "x"});
  EXPECT_THAT(contract::load(world)->back().damage, HasSubstr("WRONGTYPE"));
  EXPECT_FALSE(contract::save(world, contract::record_of(world, 2, 9, Stage::error)).ok());
  // Gone, as if Redis had lost it: the rest is loaded.
  redis.server.cli({"DEL", key});
  ASSERT_TRUE(contract::load(world).ok());
  EXPECT_EQ(contract::load(world)->size(), 1U);
  // Another host's record under our key.
  redis.server.cli({"HSET", "reclaim:{compute-1}:device:0000:01:01.0", "host", "compute-9"});
  EXPECT_THAT(contract::load(world)->front().damage, HasSubstr("on host compute-9"));
}

TEST(RedisStore, AnEpochThatIsNoNumberIsNotOverwritten) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  redis.server.cli({"HSET", "reclaim:{compute-1}:device:0000:01:01.0", "epoch", "many"});
  const auto saved = contract::save(world, contract::record_of(world, 1, 9, Stage::error));
  EXPECT_EQ(contract::code_of(saved), Errc::conflict);
}

TEST(RedisStore, DevicesAreBounded) {
  StoreOnRedis redis;
  redis.options.devices_max = 2;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  redis.server.cli({"SADD", "reclaim:{compute-1}:devices", "a", "b", "c"});
  EXPECT_EQ(contract::load(world).error().code, Errc::failed);
}

TEST(RedisStore, TokensGrowThoughRedisForgets) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  const auto before = contract::lock(world, "worker-1", 60'000);
  ASSERT_TRUE(before.ok());
  redis.server.cli({"FLUSHALL"});
  test::run_for(redis.loop, 5);
  const auto after = contract::lock(world, "worker-2", 60'000);
  ASSERT_TRUE(after.ok());
  EXPECT_GT(after->token, before->token);
  EXPECT_EQ(contract::code_of(contract::renew(world, *before, 1000)), Errc::conflict);
}

TEST(RedisStore, RecordsSurviveAKilledServer) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());
  ASSERT_TRUE(contract::push(world, "kept").ok());
  redis.server.kill_hard();
  ASSERT_TRUE(test::run_until(redis.loop, [&] { return !redis.store->state().connected; }));
  EXPECT_EQ(contract::code_of(contract::push(world, "refused")), Errc::unavailable);
  redis.server.start();
  ASSERT_TRUE(redis.connected());
  EXPECT_EQ(contract::load(world)->size(), 1U);
  const std::vector<Kick> kicks = contract::read(world, 10);
  ASSERT_EQ(kicks.size(), 1U);
  EXPECT_EQ(kicks[0].reason, "kept");
}

TEST(RedisStore, AnotherSchemaIsNotSpokenTo) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  redis.server.cli({"SET", "reclaim:schema", "3"});
  redis.open();
  ASSERT_TRUE(
      test::run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); }));
  EXPECT_FALSE(redis.store->state().connected);
  EXPECT_THAT(redis.store->state().last_error,
              HasSubstr("reclaim:schema is '3', this version of Reclaim speaks 2"));
  EXPECT_EQ(contract::load(redis.world("compute-1")).error().code, Errc::unavailable);
  EXPECT_THAT(redis.store->state().last_error,
              HasSubstr("set it back: redis-cli SET reclaim:schema 2"));
  redis.server.cli({"SET", "reclaim:schema", "2.7"});
  EXPECT_TRUE(redis.connected());
}

// Whoever wrote it: a word in Redis does not stop a fleet.
TEST(RedisStore, WhoBeganWithItsSchemaGoesOnWhateverIsWrittenThere) {
  test::Told errors(LogLevel::error);
  StoreOnRedis redis;
  redis.store = *RedisStore::create(redis.loop.raw(), redis.options, redis.clock, errors);
  redis.store->start();
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  const auto write = [&](std::uint64_t times, const std::vector<std::string>& words) {
    redis.server.cli({"DEL", "reclaim:schema"});
    redis.server.cli(words);
    redis.server.cli({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(test::run_until(redis.loop, [&] {
      return redis.store->state().connected && redis.store->state().connects > times;
    })) << redis.store->state().last_error;
    EXPECT_TRUE(contract::save(world, contract::record_of(world, 1, times, Stage::error)).ok());
  };
  write(1, {"SET", "reclaim:schema", "3"});
  write(2, {"RPUSH", "reclaim:schema", "x"});
  write(3, {"SET", "reclaim:schema", "\x1b[2J"});
  write(4, {"SET", "reclaim:schema", ""});
  const auto told = [](const std::string& found) {
    return AllOf(HasSubstr("reclaim:schema is '" + found + "', and this process began with 2"),
                 HasSubstr("set it back: redis-cli SET reclaim:schema 2"));
  };
  EXPECT_THAT(errors.all, ElementsAre(told("3"), told(".[2J"), told("(empty)")));
  redis.open();
  ASSERT_TRUE(
      test::run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); }));
  EXPECT_THAT(redis.store->state().last_error, HasSubstr("reclaim:schema is '(empty)'"));
}

TEST(RedisStore, JournalAndKicksAreBounded) {
  StoreOnRedis redis;
  redis.options.journal_length_max = 100;
  redis.options.kicks_length_max = 100;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  int outstanding = 0;
  const auto note = [&](const Result<Ok>& result) {
    EXPECT_TRUE(result.ok());
    --outstanding;
  };
  for (std::uint64_t i = 1; i <= 500; ++i) {
    outstanding += 2;
    redis.store->save(contract::record_of(world, 1, i, Stage::error), {}, {}, note);
    redis.store->push_kick(world.host, Kick{}, note);
  }
  world.run_until([&] { return outstanding == 0; });
  EXPECT_LE(std::atoi(redis.server.cli({"XLEN", "reclaim:{compute-1}:journal"}).c_str()), 200);
  EXPECT_LE(std::atoi(redis.server.cli({"XLEN", "reclaim:{compute-1}:kicks"}).c_str()), 200);
}

TEST(RedisStore, KicksThatNobodyFetchesExpireAndLaterOnesAreHeard) {
  StoreOnRedis redis;
  redis.options.kicks_life_ms = 600'000;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  const auto life_ms = [&] {
    return std::atoi(redis.server.cli({"PTTL", "reclaim:{compute-1}:kicks"}).c_str());
  };
  ASSERT_TRUE(contract::push(world, "one").ok());
  world.run_until([&] { return life_ms() > 0; });
  EXPECT_LE(life_ms(), 600'000);
  ASSERT_EQ(contract::read(world, 10).size(), 1U);
  // Each push starts the time again.
  redis.server.cli({"PEXPIRE", "reclaim:{compute-1}:kicks", "30000"});
  ASSERT_TRUE(contract::push(world, "two").ok());
  world.run_until([&] { return life_ms() > 30'000; });
  // It takes the worker's group with it.
  redis.server.cli({"PEXPIRE", "reclaim:{compute-1}:kicks", "0"});
  ASSERT_TRUE(contract::push(world, "three").ok());
  std::vector<Kick> kicks = contract::read(world, 10);
  ASSERT_EQ(kicks.size(), 1U);
  EXPECT_EQ(kicks[0].reason, "three");
}

TEST(RedisStore, KicksTrimmedUnreadDoNoHarm) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  for (const char* reason : {"one", "two", "three"})
    ASSERT_TRUE(contract::push(world, reason).ok());
  ASSERT_EQ(contract::read(world, 10).size(), 3U);
  redis.server.cli({"XTRIM", "reclaim:{compute-1}:kicks", "MAXLEN", "1"});
  world.restart();
  const std::vector<Kick> kicks = contract::read(world, 1);
  ASSERT_EQ(kicks.size(), 1U);
  EXPECT_EQ(kicks[0].reason, "three");
  ASSERT_TRUE(contract::ack(world, {kicks[0].id}).ok());
  EXPECT_EQ(redis.server.cli({"XPENDING", "reclaim:{compute-1}:kicks", "workers"}).substr(0, 1),
            "0");
}

TEST(RedisStore, KicksMayBeWrittenByHand) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  redis.server.cli(
      {"XADD", "reclaim:{compute-1}:kicks", "*", "reason", "operator", "delays_s", "x"});
  const std::vector<Kick> kicks = contract::read(world, 10);
  ASSERT_EQ(kicks.size(), 1U);
  EXPECT_EQ(kicks[0].reason, "operator");
  EXPECT_TRUE(kicks[0].delays_s.empty());
}

TEST(RedisStore, AHostNameFromOutsideIsChecked) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  for (const std::string& name : {std::string(), std::string("a}b"), std::string("a b"),
                                  std::string("a\n"), std::string(256, 'a')}) {
    EXPECT_EQ(contract::code_of(contract::push(redis.world(name), "x")), Errc::invalid) << name;
  }
}

TEST(RedisStore, AKickIsHeardAtOnce) {
  StoreOnRedis redis;
  redis.options.watch_block_ms = 600'000;
  redis.options.redis.command_timeout_ms = 600'000;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::push(world, "lies there").ok());
  int heard = 0;
  redis.store->watch_kicks(world.host, [&] { ++heard; });
  world.run_until([&] { return heard >= 1; });
  test::run_for(redis.loop, 50);
  // Nothing but the push can wake the watch now: its own wait lasts ten minutes.
  const int before = heard;
  ASSERT_TRUE(contract::push(world, "new").ok());
  world.run_until([&] { return heard > before; });
  EXPECT_EQ(contract::read(world, 10).size(), 2U);
  // And after the server was away.
  redis.server.kill_hard();
  ASSERT_TRUE(test::run_until(redis.loop, [&] { return !redis.store->state().connected; }));
  redis.server.start();
  ASSERT_TRUE(redis.connected());
  test::run_for(redis.loop, 300);
  const int after = heard;
  ASSERT_TRUE(contract::push(world, "newer").ok());
  world.run_until([&] { return heard > after; });
}

PersistenceReport persistence(StoreOnRedis& redis) {
  const auto report = contract::ask<PersistenceReport>(
      redis.world("x"),
      [&](Callback<PersistenceReport> done) { redis.store->check_persistence(std::move(done)); });
  EXPECT_TRUE(report.ok());
  return report.ok() ? *report : PersistenceReport{};
}

TEST(RedisStore, PersistenceIsLookedAt) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  PersistenceReport report = persistence(redis);
  EXPECT_TRUE(report.known && report.aof_enabled && !report.evicts) << report.text;
  EXPECT_EQ(report.text, "");
  redis.server.cli({"CONFIG", "SET", "appendonly", "no"});
  redis.server.cli({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  report = persistence(redis);
  EXPECT_FALSE(report.aof_enabled);
  EXPECT_FALSE(report.evicts) << "without a limit on memory nothing is evicted";
  EXPECT_THAT(report.text, HasSubstr("appendonly yes"));
  redis.server.cli({"CONFIG", "SET", "maxmemory", "100mb"});
  report = persistence(redis);
  EXPECT_TRUE(report.evicts);
  EXPECT_THAT(report.text, HasSubstr("maxmemory-policy allkeys-lru"));
}

TEST(RedisStore, ThreeQuartersOfItsConnectionsAreTold) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  EXPECT_EQ(persistence(redis).crowded, "");
  redis.server.cli({"CONFIG", "SET", "maxclients", "1"});
  EXPECT_THAT(persistence(redis).crowded, ::testing::EndsWith(" connections of 1"));
}

// A kick is refused while memory is full (its notification then waits in RabbitMQ); a record is
// not, since its script's first write takes no memory, and Redis lets a script that has begun
// finish.
TEST(RedisStore, FullMemoryRefusesKicksButNoRecords) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());
  redis.server.cli({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(contract::code_of(contract::push(world, "x")), Errc::unavailable);
  EXPECT_FALSE(contract::lock(world, "worker-1", 60'000).ok());
  EXPECT_TRUE(contract::save(world, contract::record_of(world, 1, 2, Stage::error)).ok());
  EXPECT_TRUE(contract::save(world, contract::record_of(world, 2, 1, Stage::error)).ok());
  EXPECT_EQ(contract::load(world)->size(), 2U);
}

// The rule docs/redis.md gives: all a worker does is allowed, and nothing else is.
TEST(RedisStore, WithoutInfoPersistenceIsUnknown) {
  StoreOnRedis redis;
  redis.server.cli({"ACL", "SETUSER", "reclaim", "on", ">pw", "~reclaim:*", "+@all", "-info"});
  redis.options.redis.username = "reclaim";
  redis.options.redis.password = "pw";
  redis.open();
  ASSERT_TRUE(redis.connected());
  const PersistenceReport report = persistence(redis);
  EXPECT_FALSE(report.known);
  EXPECT_THAT(report.text, HasSubstr("cannot see whether Redis persists"));
}

}  // namespace
}  // namespace reclaim
