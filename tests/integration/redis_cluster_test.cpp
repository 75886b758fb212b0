// The store on a real Redis Cluster whose masters are killed, hang, or forget.
#include "state/redis/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/redis/slots.h"
#include "tests/integration/documented_acl.h"
#include "tests/integration/redis_nodes.h"
#include "tests/integration/store_on_redis.h"

namespace reclaim {
namespace {

using test::RedisNodes;
using test::RedisServer;
using test::run_until;
using test::StoreOn;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kFailoverMs = 240'000;  // some seconds, and as long as a busy machine makes of it

// Of each master, one whose keys it has.
std::vector<std::string> hosts_of_each(const RedisNodes& nodes) {
  std::vector<std::string> hosts(RedisNodes::kMasters);
  for (int i = 0, missing = RedisNodes::kMasters; missing > 0; ++i) {
    const std::string host = "compute-" + std::to_string(i);
    std::string& of_master = hosts.at(nodes.master_of("{" + host + "}"));
    if (!of_master.empty()) continue;
    of_master = host;
    --missing;
  }
  return hosts;
}

PersistenceReport persistence(StoreOn& redis) {
  const auto report = contract::ask<PersistenceReport>(
      redis.world("x"),
      [&](Callback<PersistenceReport> done) { redis.store->check_persistence(std::move(done)); });
  EXPECT_TRUE(report.ok());
  return report.ok() ? *report : PersistenceReport{};
}

std::string error_of(const RedisOptions& options) {
  StoreOn redis(options);
  run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); });
  EXPECT_FALSE(redis.store->state().connected);
  return redis.store->state().last_error;
}

// What needs a cluster and does it no harm.
class RedisClusterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { nodes = std::make_unique<RedisNodes>(0); }
  static void TearDownTestSuite() { nodes.reset(); }

  static std::unique_ptr<RedisNodes> nodes;
};

std::unique_ptr<RedisNodes> RedisClusterTest::nodes;

TEST_F(RedisClusterTest, KeepsTheContractOnEachMaster) {
  for (const contract::Check& check : contract::kChecks) {
    StoreOn redis(nodes->options());
    ASSERT_TRUE(redis.connected()) << redis.store->state().last_error;
    SCOPED_TRACE(check.name);
    check.run(redis.world(std::string("host-") + check.name));
  }
  for (std::size_t i = 0; i < RedisNodes::kMasters; ++i) {
    EXPECT_NE(nodes->master(i).cli({"DBSIZE"}), "0") << i;
  }
}

TEST_F(RedisClusterTest, WorksAsTheDocumentedUserOfItsHost) {
  ASSERT_TRUE(StoreOn(nodes->options()).connected());  // as an operator, who loads the functions
  for (const contract::Check& check : contract::kChecks) {
    const std::string host = std::string("user-") + check.name;
    for (const auto& server : nodes->all()) {
      ASSERT_EQ(server->cli(test::documented_acl(host)), "OK");
    }
    RedisOptions options = nodes->options();
    options.username = "reclaim-" + host;
    options.password = "PASSWORD";
    StoreOn redis(options);
    ASSERT_TRUE(redis.connected()) << redis.store->state().last_error;
    SCOPED_TRACE(check.name);
    check.run(redis.world(host));
    EXPECT_TRUE(persistence(redis).known);
  }
}

// As a master that was added later does.
TEST_F(RedisClusterTest, AMasterThatLacksTheFunctionsIsNamedUntilTheyAreInstalled) {
  StoreOn tool(nodes->options());
  ASSERT_TRUE(tool.connected());
  for (const auto& server : nodes->all()) {
    ASSERT_EQ(server->cli(test::documented_acl("compute-1")), "OK");
  }
  nodes->master(1).cli({"FUNCTION", "FLUSH"});
  RedisOptions options = nodes->options();
  options.username = "reclaim-compute-1";
  options.password = "PASSWORD";
  StoreOn redis(options);
  ASSERT_TRUE(run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); }));
  EXPECT_THAT(redis.store->state().last_error, AllOf(HasSubstr(test::port_of(nodes->master(1))),
                                                     HasSubstr("`reclaim redis install`")));
  EXPECT_EQ(redis.store->state().lua, RedisLua::missing);
  tool.open();
  ASSERT_TRUE(tool.connected());
  const auto servers = contract::ask<std::size_t>(
      tool.world("x"), [&](Callback<std::size_t> done) { tool.store->install(std::move(done)); });
  ASSERT_TRUE(servers.ok()) << servers.error().what;
  EXPECT_EQ(*servers, RedisNodes::kMasters);
  EXPECT_TRUE(redis.connected());
}

// It was removed from the cluster, or the cluster is not made yet.
TEST_F(RedisClusterTest, ANodeWithoutSlotsIsPassedOver) {
  const RedisServer alone({"--cluster-enabled", "yes"});
  RedisOptions options = nodes->options();
  options.cluster.insert(options.cluster.begin(), test::address_of(alone));
  StoreOn redis(options);
  EXPECT_TRUE(redis.connected()) << redis.store->state().last_error;
  options.cluster = {test::address_of(alone)};
  EXPECT_THAT(error_of(options), HasSubstr("it knows of no slots"));
}

TEST_F(RedisClusterTest, HostsOfAllMastersAreReadInOne) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  std::size_t beaten = 0;
  constexpr std::size_t kHosts = 700;  // two pieces of MGET
  for (std::size_t i = 0; i < kHosts; ++i) {
    const std::string name = "many-" + std::to_string(i);
    redis.store->heartbeat(HostInfo{name, WallMs{static_cast<std::int64_t>(i) + 1}, "0.1.0", name},
                           [&](const Result<Ok>& beat) { beaten += beat.ok() ? 1U : 0U; });
  }
  ASSERT_TRUE(run_until(redis.loop, [&] { return beaten == kHosts; }));
  const auto hosts = contract::ask<std::vector<HostInfo>>(
      redis.world("x"),
      [&](Callback<std::vector<HostInfo>> done) { redis.store->hosts(std::move(done)); });
  ASSERT_TRUE(hosts.ok()) << hosts.error().what;
  std::size_t of_ours = 0;
  for (const HostInfo& info : *hosts) {
    if (!info.host.starts_with("many-")) continue;
    ++of_ours;
    EXPECT_EQ("many-" + std::to_string(info.heartbeat_at.ms - 1), info.host);
  }
  EXPECT_EQ(of_ours, kHosts);
}

TEST_F(RedisClusterTest, PersistenceIsLookedAtOnEachMaster) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  EXPECT_EQ(persistence(redis).text, "");
  EXPECT_TRUE(persistence(redis).known && persistence(redis).aof_enabled);
  test::RedisServer& last = nodes->master(2);
  last.cli({"CONFIG", "SET", "appendonly", "no"});
  last.cli({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  last.cli({"CONFIG", "SET", "maxmemory", "100mb"});
  const PersistenceReport report = persistence(redis);
  EXPECT_FALSE(report.aof_enabled);
  EXPECT_TRUE(report.evicts);
  EXPECT_THAT(report.text, AllOf(HasSubstr(describe(address_of(last)) + ": Redis keeps no append"),
                                 HasSubstr("maxmemory-policy allkeys-lru")));
  EXPECT_THAT(report.text, Not(HasSubstr(describe(address_of(nodes->master(0))))));
  last.cli({"CONFIG", "SET", "maxmemory", "0"});
  last.cli({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  last.cli({"CONFIG", "SET", "appendonly", "yes"});
}

TEST_F(RedisClusterTest, TheSchemaOfTheWholeClusterIsLookedAt) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  EXPECT_TRUE(run_until(redis.loop, [&] { return nodes->cli({"GET", "reclaim:schema"}) == "2"; }));
  nodes->cli({"SET", "reclaim:schema", "3"});
  redis.open();
  ASSERT_TRUE(run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); }));
  EXPECT_THAT(redis.store->state().last_error, HasSubstr("reclaim:schema is '3'"));
  EXPECT_EQ(contract::load(redis.world("compute-1")).error().code, Errc::unavailable);
  nodes->cli({"SET", "reclaim:schema", "2"});
  EXPECT_TRUE(redis.connected());
}

// One that stands goes on when it has to connect again.
TEST_F(RedisClusterTest, ASchemaThatChangesStopsNobodyWhoBeganWithIt) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  nodes->cli({"SET", "reclaim:schema", "3"});
  const std::uint64_t connects = redis.store->state().connects;
  for (std::size_t i = 0; i < RedisNodes::kMasters; ++i) {
    nodes->master(i).cli({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  }
  ASSERT_TRUE(run_until(redis.loop, [&] {
    return redis.store->state().connected && redis.store->state().connects > connects;
  })) << redis.store->state().last_error;
  EXPECT_TRUE(contract::load(redis.world("compute-1")).ok());
  nodes->cli({"SET", "reclaim:schema", "2"});
}

TEST_F(RedisClusterTest, AKickIsHeardThoughTheConnectionsToTheOtherMastersEnd) {
  StoreOn redis(nodes->options());
  redis.options.watch_block_ms = 600'000;
  redis.options.redis.command_timeout_ms = 600'000;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const std::vector<std::string> hosts = hosts_of_each(*nodes);
  const contract::World world = redis.world(hosts[0]);
  int heard = 0;
  redis.store->watch_kicks(world.host, [&] { ++heard; });
  world.run_until([&] { return heard >= 1; });
  for (const std::size_t lost : {1U, 0U, 2U}) {
    const std::uint64_t before = redis.store->state().connects;
    nodes->master(lost).cli({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    world.run_until([&] { return redis.store->state().connects > before; });
    test::run_for(redis.loop, 300);
    const int now = heard;
    ASSERT_TRUE(contract::push(world, "new").ok());
    world.run_until([&] { return heard > now; });
  }
  // One wait at a time, whatever was lost in between.
  const std::string clients = nodes->master(0).cli({"CLIENT", "LIST"});
  std::size_t waiting = 0;
  for (std::size_t at = clients.find("cmd=xread "); at != std::string::npos;
       at = clients.find("cmd=xread ", at + 1)) {
    ++waiting;
  }
  EXPECT_EQ(waiting, 1U) << clients;
}

TEST_F(RedisClusterTest, EndsInTheMidstOfConnecting) {
  for (int turns = 0; turns < 30; ++turns) {
    StoreOn redis(nodes->options());
    int left = turns;
    run_until(redis.loop, [&] { return left-- <= 0; });
  }
}

TEST_F(RedisClusterTest, EveryCallerIsAnsweredWhenItIsClosed) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  int answered = 0;
  for (int i = 0; i < 200; ++i) {
    redis.store->push_kick("host-" + std::to_string(i % 7), Kick{}, [&](const Result<Ok>& pushed) {
      ++answered;
      if (!pushed) {
        EXPECT_EQ(pushed.error().code, Errc::cancelled);
      }
    });
  }
  run_until(redis.loop, [&] { return answered > 20; });
  redis.store.reset();
  EXPECT_EQ(answered, 200);
}

TEST_F(RedisClusterTest, CommandsAreBounded) {
  StoreOn redis(nodes->options());
  redis.options.redis.commands_in_flight_max = 10;
  redis.options.redis.command_bytes_max = 1'000;
  redis.open();
  ASSERT_TRUE(redis.connected());
  int answered = 0;
  int refused = 0;
  for (int i = 0; i < 8; ++i) {  // two commands each
    redis.store->push_kick("h", Kick{}, [&](const Result<Ok>& pushed) {
      ++answered;
      if (!pushed.ok() && pushed.error().code == Errc::limit) ++refused;
    });
  }
  ASSERT_TRUE(run_until(redis.loop, [&] { return answered == 8; }));
  EXPECT_EQ(refused, 3);
  Kick kick;
  kick.reason = std::string(2'000, 'x');
  const auto pushed = contract::ask<Ok>(redis.world("h"), [&](Callback<Ok> done) {
    redis.store->push_kick("h", kick, std::move(done));
  });
  EXPECT_EQ(contract::code_of(pushed), Errc::limit);
}

TEST_F(RedisClusterTest, ASlotThatNobodyHasIsSaid) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  const std::string slot = std::to_string(slot_of_key("{compute-1}"));
  test::RedisServer& owner = nodes->master(nodes->master_of("{compute-1}"));
  for (const auto& server : nodes->all()) server->cli({"CLUSTER", "DELSLOTS", slot});
  redis.options.redis.command_timeout_ms = 300;
  redis.open();
  ASSERT_TRUE(run_until(redis.loop, [&] { return !redis.store->state().last_error.empty(); }));
  EXPECT_THAT(redis.store->state().last_error,
              HasSubstr("1 of 16384 slots have no master: see `redis-cli --cluster check`"));
  owner.cli({"CLUSTER", "ADDSLOTS", slot});
  ASSERT_TRUE(redis.connected());
}

TEST_F(RedisClusterTest, WhatIsWrongIsSaidWithTheRemedy) {
  const test::RedisServer alone;
  RedisOptions no_cluster = alone.options();
  no_cluster.host = "";
  no_cluster.cluster = {address_of(alone)};
  EXPECT_THAT(error_of(no_cluster), AllOf(HasSubstr("no node tells the slots"),
                                          HasSubstr("write redis:// in [redis] url")));
  RedisOptions one_node = nodes->master(0).options();
  std::string error = error_of(one_node);
  if (error.empty()) error = error_of(nodes->master(1).options());
  EXPECT_THAT(error, HasSubstr("write redis+cluster:// in [redis] url"));
  RedisOptions nobody = nodes->options();
  nobody.cluster.resize(1);
  EXPECT_THAT(error_of(nobody),
              HasSubstr("cannot use Redis at the cluster of 127.0.0.1:1: no node tells the slots: "
                        "cannot use Redis at 127.0.0.1:1/0: Connection refused"));
}

TEST_F(RedisClusterTest, AUserThatMayNotAskForTheSlotsIsTold) {
  for (const auto& server : nodes->all()) {
    server->cli({"ACL", "SETUSER", "blind", "on", ">pw", "~*", "+@all", "-cluster"});
    server->cli({"ACL", "SETUSER", "roleless", "on", ">pw", "~*", "+@all", "-role"});
  }
  RedisOptions options = nodes->options();
  options.password = "pw";
  for (const char* user : {"blind", "roleless"}) {
    options.username = user;
    EXPECT_THAT(error_of(options),
                AllOf(HasSubstr("NOPERM"), HasSubstr("+cluster|slots, +asking and +role")))
        << user;
  }
  options.username = "nobody";
  EXPECT_THAT(error_of(options),
              AllOf(HasSubstr("WRONGPASS"), HasSubstr("check user and password in [redis] url")));
}

// Of a cluster that is killed in parts; each test has its own.
class RedisFailover : public ::testing::Test {
 protected:
  static Record record_of(const contract::World& world, std::uint64_t epoch) {
    return contract::record_of(world, 1, epoch, Stage::error);
  }
  // Tried again, as the worker does.
  static bool saves(StoreOn& redis, const contract::World& world, std::uint64_t epoch) {
    bool saved = false;
    return run_until(
        redis.loop,
        [&] {
          saved = saved || contract::save(world, record_of(world, epoch)).ok();
          return saved;
        },
        kFailoverMs);
  }
};

TEST_F(RedisFailover, AKilledMasterIsLeftForItsReplica) {
  RedisNodes nodes(1);
  StoreOn redis(nodes.options());
  ASSERT_TRUE(redis.connected());
  const std::vector<std::string> hosts = hosts_of_each(nodes);
  std::vector<contract::World> worlds;
  worlds.reserve(hosts.size());
  for (const std::string& host : hosts) worlds.push_back(redis.world(host));
  for (const auto& world : worlds) ASSERT_TRUE(contract::save(world, record_of(world, 1)).ok());
  ASSERT_TRUE(run_until(redis.loop, [&] {
    return nodes.replica_of(0).cli({"DBSIZE"}) == nodes.master(0).cli({"DBSIZE"});
  }));
  nodes.master(0).kill_hard();
  ASSERT_TRUE(run_until(redis.loop, [&] { return !redis.store->state().connected; }));
  EXPECT_THAT(redis.store->state().last_error, HasSubstr("lost Redis at the cluster of"));
  EXPECT_EQ(contract::code_of(contract::save(worlds[0], record_of(worlds[0], 2))),
            Errc::unavailable);
  // The others' records are still written.
  EXPECT_TRUE(saves(redis, worlds[1], 2));
  ASSERT_TRUE(run_until(
      redis.loop, [&] { return redis.store->state().connected; }, kFailoverMs));
  for (const auto& world : worlds) {
    EXPECT_EQ(contract::load(world)->size(), 1U) << world.host;
    EXPECT_TRUE(contract::save(world, record_of(world, 3)).ok()) << world.host;
  }
  EXPECT_THAT(nodes.replica_of(0).cli({"ROLE"}), HasSubstr("master"));
  // As a replica it is nobody that commands are sent to.
  nodes.master(0).start();
  ASSERT_TRUE(run_until(
      redis.loop, [&] { return nodes.master(0).cli({"ROLE"}).starts_with("slave"); }, kFailoverMs));
  EXPECT_TRUE(redis.store->state().connected);
  EXPECT_TRUE(contract::save(worlds[0], record_of(worlds[0], 4)).ok());
}

// docs/redis.md, "What is lost with Redis": the last writes of a record, a lock, a token.
TEST_F(RedisFailover, AFailoverThatLosesTheLastWritesIsNoticed) {
  RedisNodes nodes(1);
  StoreOn redis(nodes.options());
  ASSERT_TRUE(redis.connected());
  const std::string host = hosts_of_each(nodes)[0];
  const contract::World world = redis.world(host);
  ASSERT_TRUE(contract::save(world, record_of(world, 1)).ok());
  ASSERT_TRUE(run_until(redis.loop, [&] {
    return nodes.replica_of(0).cli({"DBSIZE"}) == nodes.master(0).cli({"DBSIZE"});
  }));
  // Its replica hears nothing of what follows: it may not log in again.
  nodes.master(0).cli({"CONFIG", "SET", "requirepass", "for nobody"});
  nodes.replica_of(0).cli({"CLIENT", "KILL", "TYPE", "master"});
  const auto lock = contract::lock(world, "worker", 600'000);
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(contract::save(world, record_of(world, 2), *lock).ok());
  nodes.master(0).kill_hard();
  ASSERT_TRUE(run_until(redis.loop, [&] { return !redis.store->state().connected; }));
  ASSERT_TRUE(run_until(
      redis.loop, [&] { return redis.store->state().connected; }, kFailoverMs));
  ASSERT_EQ(contract::load(world)->front().epoch, 1U) << "nothing was lost";
  EXPECT_EQ(contract::code_of(contract::renew(world, *lock, 600'000)), Errc::conflict);
  EXPECT_EQ(contract::code_of(contract::save(world, record_of(world, 3), *lock)), Errc::conflict);
  const auto again = contract::lock(world, "worker", 600'000);
  ASSERT_TRUE(again.ok());
  EXPECT_GT(again->token, lock->token);
  EXPECT_TRUE(contract::save(world, record_of(world, 3), *again).ok()) << "ours is newer";
}

TEST_F(RedisFailover, WhatAMasterThatHangsWasSentIsUnknownAndNotSentAgain) {
  RedisNodes nodes(1);
  RedisOptions impatient = nodes.options();
  impatient.command_timeout_ms = 1'000;
  StoreOn redis(impatient);
  ASSERT_TRUE(redis.connected());
  const std::string host = hosts_of_each(nodes)[0];
  const contract::World world = redis.world(host);
  nodes.master(0).freeze();
  const auto first = contract::push(world, "hangs");
  EXPECT_EQ(contract::code_of(first), Errc::unknown) << first.error().what;
  EXPECT_FALSE(redis.store->state().connected) << "told before";
  const auto kicks = [&] { return nodes.cli({"XLEN", "reclaim:{" + host + "}:kicks"}); };
  nodes.master(0).thaw();
  // It reads what it was sent, unless its replica has taken over, and then nobody has it.
  ASSERT_TRUE(run_until(
      redis.loop, [&] { return redis.store->state().connected; }, kFailoverMs));
  test::run_for(redis.loop, 1'000);
  EXPECT_THAT(kicks(), ::testing::AnyOf("0", "1"));
}

TEST_F(RedisFailover, WithoutMastersEverythingIsUnavailableUntilTheyAreBack) {
  RedisNodes nodes(0);
  StoreOn redis(nodes.options());
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, record_of(world, 1)).ok());
  for (const auto& server : nodes.all()) server->kill_hard();
  ASSERT_TRUE(run_until(redis.loop, [&] { return !redis.store->state().connected; }));
  const auto refused = contract::save(world, record_of(world, 2));
  EXPECT_EQ(contract::code_of(refused), Errc::unavailable);
  EXPECT_THAT(refused.error().what, HasSubstr("127.0.0.1:"));
  EXPECT_EQ(contract::load(world).error().code, Errc::unavailable);
  for (const auto& server : nodes.all()) server->start();
  ASSERT_TRUE(run_until(
      redis.loop, [&] { return redis.store->state().connected; }, kFailoverMs));
  EXPECT_TRUE(contract::save(world, record_of(world, 2)).ok());
}

}  // namespace
}  // namespace reclaim
