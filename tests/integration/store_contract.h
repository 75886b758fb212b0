// What every Store must do, whatever it stands on: run against the real Redis here and against the
// simulation's, so that the simulation cannot promise what Redis does not keep.
//
// A world gives a store, turns the time, and can let the worker's process die and come back. Each
// check begins with a fresh host, so that they may share one Redis.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/base/uuid.h"
#include "state/device/store.h"

namespace reclaim::contract {

struct World {
  std::string host;               // not used before
  std::function<Store&()> store;  // the same one until restart()
  std::function<void(const std::function<bool()>& holds)> run_until;  // fails the test if it never
  std::function<void()> restart;  // a new Store over the same contents
  std::function<void(std::int64_t ms)> pass_time;
};

// Asks and waits; the callback has to come later than the call, and once.
template <typename T>
Result<T> ask(const World& world, const std::function<void(Callback<T>)>& question) {
  struct Answer {
    std::optional<Result<T>> result;
    int calls = 0;
  };
  const auto answer = std::make_shared<Answer>();
  question([answer](Result<T> result) {
    ++answer->calls;
    answer->result.emplace(std::move(result));
  });
  EXPECT_EQ(answer->calls, 0) << "the callback came inside the call";
  world.run_until([answer] { return answer->calls > 0; });
  EXPECT_EQ(answer->calls, 1);
  if (!answer->result) return Error{Errc::failed, "no answer came"};
  return *answer->result;
}

inline PciAddress address_of(std::uint8_t slot) {
  return PciAddress{0, 1, slot, 0};
}

inline Record record_of(const World& world, std::uint8_t slot, std::uint64_t epoch, Stage stage) {
  Record record;
  record.host = world.host;
  record.address = address_of(slot);
  record.uuid = device_uuid(world.host, record.address);
  record.serial = "S" + std::to_string(slot);
  record.epoch = epoch;
  record.stage = stage;
  record.updated_at = WallMs{1'763'640'000'000};
  return record;
}

inline Result<Ok> save(const World& world, const Record& record, LockToken lock = {}) {
  const JournalEntry entry{to_string(record.address), "available", "dirty_seen",
                           "pending_cleaning",        "why",       "detail",
                           WallMs{1'763'640'000'000}};
  return ask<Ok>(
      world, [&](Callback<Ok> done) { world.store().save(record, lock, entry, std::move(done)); });
}

inline Result<std::vector<Record>> load(const World& world) {
  return ask<std::vector<Record>>(world, [&](Callback<std::vector<Record>> done) {
    world.store().load(world.host, std::move(done));
  });
}

inline Result<LockToken> lock(const World& world, const std::string& holder, std::int64_t ttl_ms) {
  return ask<LockToken>(world, [&](Callback<LockToken> done) {
    world.store().acquire_lock(world.host, address_of(1), holder, ttl_ms, std::move(done));
  });
}

inline Result<Ok> renew(const World& world, LockToken token, std::int64_t ttl_ms) {
  return ask<Ok>(world, [&](Callback<Ok> done) {
    world.store().renew_lock(world.host, address_of(1), token, ttl_ms, std::move(done));
  });
}

inline Result<Ok> unlock(const World& world, LockToken token) {
  return ask<Ok>(world, [&](Callback<Ok> done) {
    world.store().release_lock(world.host, address_of(1), token, std::move(done));
  });
}

inline Result<Ok> push(const World& world, const std::string& reason) {
  Kick kick;
  kick.reason = reason;
  kick.instance = "an-instance";
  kick.mark_allocated = true;
  kick.delays_s = {0, 5, 30};
  kick.life = Life::ends;
  kick.host = world.host;
  kick.sent_at = WallMs{1'700'000'000'123};
  return ask<Ok>(world, [&](Callback<Ok> done) {
    world.store().push_kick(world.host, kick, std::move(done));
  });
}

inline std::vector<Kick> read(const World& world, std::size_t count_max) {
  const auto kicks = ask<std::vector<Kick>>(world, [&](Callback<std::vector<Kick>> done) {
    world.store().read_kicks(world.host, count_max, std::move(done));
  });
  EXPECT_TRUE(kicks.ok()) << (kicks.ok() ? "" : kicks.error().what);
  return kicks.ok() ? *kicks : std::vector<Kick>{};
}

inline Result<Ok> ack(const World& world, const std::vector<std::string>& ids) {
  return ask<Ok>(
      world, [&](Callback<Ok> done) { world.store().ack_kicks(world.host, ids, std::move(done)); });
}

inline Errc code_of(const Result<Ok>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? Errc::invalid : result.error().code;
}

inline void what_is_saved_is_loaded(const World& world) {
  ASSERT_TRUE(load(world).ok());
  EXPECT_TRUE(load(world)->empty());
  Record first = record_of(world, 1, 1, Stage::pending_cleaning);
  first.plan = {CleanStep{"nvme", "sanitize_crypto", 10, R"({"ause":0})"}};
  first.last_error = "a \"quoted\" text\nof two lines";
  const Record second = record_of(world, 2, 7, Stage::allocated);
  ASSERT_TRUE(save(world, second).ok());
  ASSERT_TRUE(save(world, first).ok());
  world.restart();
  const auto loaded = load(world);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded, (std::vector<Record>{first, second}));
}

inline void only_a_higher_epoch_is_saved(const World& world) {
  ASSERT_TRUE(save(world, record_of(world, 1, 5, Stage::allocated)).ok());
  EXPECT_EQ(code_of(save(world, record_of(world, 1, 5, Stage::error))), Errc::conflict);
  EXPECT_EQ(code_of(save(world, record_of(world, 1, 4, Stage::error))), Errc::conflict);
  EXPECT_EQ(load(world)->front().stage, Stage::allocated);
  EXPECT_TRUE(save(world, record_of(world, 1, 6, Stage::pending_cleaning)).ok());
  // Redis lost some writes: ours is several ahead, and newer.
  EXPECT_TRUE(save(world, record_of(world, 1, 60, Stage::error)).ok());
  EXPECT_EQ(load(world)->front().epoch, 60U);
}

inline void a_save_is_fenced(const World& world) {
  const auto old_lock = lock(world, "worker-1", 60'000);
  ASSERT_TRUE(old_lock.ok());
  EXPECT_TRUE(save(world, record_of(world, 1, 1, Stage::guarding), *old_lock).ok());
  ASSERT_TRUE(unlock(world, *old_lock).ok());
  EXPECT_EQ(code_of(save(world, record_of(world, 1, 2, Stage::error), *old_lock)), Errc::conflict);
  const auto new_lock = lock(world, "worker-2", 60'000);
  ASSERT_TRUE(new_lock.ok());
  EXPECT_GT(new_lock->token, old_lock->token);
  EXPECT_EQ(code_of(save(world, record_of(world, 1, 2, Stage::error), *old_lock)), Errc::conflict);
  EXPECT_EQ(load(world)->front().stage, Stage::guarding);
  EXPECT_TRUE(save(world, record_of(world, 1, 2, Stage::error), *new_lock).ok());
}

inline void a_lock_has_one_holder(const World& world) {
  const auto held = lock(world, "worker-1", 60'000);
  ASSERT_TRUE(held.ok());
  const auto refused = lock(world, "worker-2", 60'000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::busy);
  EXPECT_NE(refused.error().what.find("worker-1"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(renew(world, *held, 60'000).ok());
  const LockToken foreign{held->token + 1};
  EXPECT_EQ(code_of(renew(world, foreign, 60'000)), Errc::conflict);
  (void)unlock(world, foreign).ok();
  EXPECT_TRUE(renew(world, *held, 60'000).ok()) << "another's release took our lock";
  ASSERT_TRUE(unlock(world, *held).ok());
  EXPECT_EQ(code_of(renew(world, *held, 60'000)), Errc::conflict);
  EXPECT_TRUE(lock(world, "worker-2", 60'000).ok());
}

inline void a_lock_expires(const World& world) {
  const auto held = lock(world, "worker-1", 300);
  ASSERT_TRUE(held.ok());
  world.pass_time(1500);
  EXPECT_EQ(code_of(renew(world, *held, 60'000)), Errc::conflict);
  const auto next = lock(world, "worker-2", 60'000);
  ASSERT_TRUE(next.ok());
  EXPECT_GT(next->token, held->token);
}

inline void a_holder_may_take_its_lock_again(const World& world) {
  const auto first = lock(world, "worker-1", 60'000);
  ASSERT_TRUE(first.ok());
  const auto second = lock(world, "worker-1", 60'000);
  ASSERT_TRUE(second.ok()) << second.error().what;
  EXPECT_GT(second->token, first->token);
  EXPECT_EQ(code_of(renew(world, *first, 60'000)), Errc::conflict);
  EXPECT_TRUE(renew(world, *second, 60'000).ok());
}

inline void progress_belongs_to_its_epoch(const World& world) {
  ASSERT_TRUE(save(world, record_of(world, 1, 3, Stage::erasing)).ok());
  Record record = record_of(world, 1, 3, Stage::erasing);
  record.clean_step = "nvme.sanitize_crypto";
  record.progress_percent = 42.5;
  record.progress_eta_s = 17;
  record.progress_message = "burning";
  const auto save_progress = [&] {
    return ask<Ok>(
        world, [&](Callback<Ok> done) { world.store().save_progress(record, std::move(done)); });
  };
  EXPECT_TRUE(save_progress().ok());
  EXPECT_EQ(load(world)->front(), record);
  ASSERT_TRUE(save(world, record_of(world, 1, 4, Stage::verifying)).ok());
  record.progress_percent = 99;
  EXPECT_EQ(code_of(save_progress()), Errc::conflict);
  EXPECT_EQ(load(world)->front(), record_of(world, 1, 4, Stage::verifying));
}

inline void kicks_come_in_order_until_acknowledged(const World& world) {
  EXPECT_TRUE(read(world, 10).empty());
  for (const char* reason : {"one", "two", "three"}) ASSERT_TRUE(push(world, reason).ok());
  const std::vector<Kick> first = read(world, 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].reason, "one");
  EXPECT_EQ(first[0].instance, "an-instance");
  EXPECT_TRUE(first[0].mark_allocated);
  EXPECT_EQ(first[0].delays_s, (std::vector<int>{0, 5, 30}));
  EXPECT_EQ(first[0].life, Life::ends);
  EXPECT_EQ(first[0].host, world.host);
  EXPECT_EQ(first[0].sent_at.ms, 1'700'000'000'123);
  EXPECT_EQ(first[1].reason, "two");
  ASSERT_TRUE(ack(world, {first[0].id}).ok());
  world.restart();
  std::vector<std::string> reasons;
  std::vector<std::string> ids;
  while (reasons.size() < 2) {
    const std::vector<Kick> kicks = read(world, 10);
    ASSERT_FALSE(kicks.empty()) << "not acknowledged, and yet not read again";
    for (const Kick& kick : kicks) {
      reasons.push_back(kick.reason);
      ids.push_back(kick.id);
    }
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{"two", "three"}));
  ASSERT_TRUE(ack(world, ids).ok());
  world.restart();
  EXPECT_TRUE(read(world, 10).empty());
}

inline void an_order_is_taken_once(const World& world) {
  const auto take = [&] {
    const auto orders = ask<std::vector<Order>>(world, [&](Callback<std::vector<Order>> done) {
      world.store().take_orders(world.host, 2, std::move(done));
    });
    EXPECT_TRUE(orders.ok()) << (orders.ok() ? "" : orders.error().what);
    return orders.ok() ? *orders : std::vector<Order>{};
  };
  EXPECT_TRUE(take().empty());
  Order order{"",
              "enrol",
              "0000:01:01.0",
              "alice@controller-1",
              "req-1",
              WallMs{1'763'640'000'123},
              "a-nonce",
              "a-code",
              "a-serial",
              "dsn=00-01",
              "a reason",
              "steps",
              "a-hold"};
  for (const char* what : {"enrol", "clean", "abort"}) {
    order.order = what;
    ASSERT_TRUE(ask<Ok>(world, [&](Callback<Ok> done) {
                  world.store().push_order(world.host, order, std::move(done));
                }).ok());
  }
  std::vector<Order> taken = take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[1].order, "clean");
  EXPECT_GT(written_at_ms(taken[0].id), 0);
  order.order = "enrol";
  order.id = taken[0].id;
  EXPECT_EQ(taken[0], order);
  world.restart();
  taken = take();
  ASSERT_EQ(taken.size(), 1U) << "what a worker took and did not live to do is not done";
  EXPECT_EQ(taken[0].order, "abort");
  EXPECT_TRUE(take().empty());
  const auto left = [&] {
    const auto orders = ask<std::vector<Order>>(world, [&](Callback<std::vector<Order>> done) {
      world.store().orders_left(world.host, std::move(done));
    });
    EXPECT_TRUE(orders.ok());
    std::vector<std::string> ids;
    for (const Order& one : orders.ok() ? *orders : std::vector<Order>{}) {
      EXPECT_EQ(one.request_id, "req-1");
      ids.push_back(one.id);
    }
    return ids;
  };
  EXPECT_EQ(left().size(), 3U) << "until it is told what became of it";
  EXPECT_TRUE(ask<Ok>(world, [&](Callback<Ok> done) {
                world.store().answer_order(world.host, order, "", std::move(done));
              }).ok());
  EXPECT_EQ(left().size(), 2U);
  taken[0].request_id.clear();
  EXPECT_TRUE(ask<Ok>(world, [&](Callback<Ok> done) {
                world.store().answer_order(world.host, taken[0], "", std::move(done));
              }).ok());
  const std::vector<std::string> ids = left();
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_NE(ids[0], taken[0].id);
}

inline void a_host_name_belongs_to_one_machine(const World& world) {
  HostInfo info{world.host, WallMs{1'763'640'000'000}, "0.1.0", "machine-a", 2};
  const auto beat = [&] {
    return ask<Ok>(world,
                   [&](Callback<Ok> done) { world.store().heartbeat(info, std::move(done)); });
  };
  EXPECT_TRUE(beat().ok());
  info.burned = 3;
  EXPECT_TRUE(beat().ok());
  info.machine_id = "machine-b";
  EXPECT_EQ(code_of(beat()), Errc::conflict);
  const auto hosts = ask<std::vector<HostInfo>>(
      world, [&](Callback<std::vector<HostInfo>> done) { world.store().hosts(std::move(done)); });
  ASSERT_TRUE(hosts.ok());
  int found = 0;
  for (const HostInfo& host : *hosts) {
    if (host.host != world.host) continue;
    ++found;
    EXPECT_EQ(host.machine_id, std::string("machine-a"));
    EXPECT_EQ(host.burned, 3U);
    EXPECT_EQ(host.version, "0.1.0");
    EXPECT_EQ(host.heartbeat_at, info.heartbeat_at);
  }
  EXPECT_EQ(found, 1);
}

inline std::vector<std::string> hosts_called(const World& world, const std::string& name) {
  const auto called =
      ask<std::vector<std::string>>(world, [&](Callback<std::vector<std::string>> done) {
        world.store().hosts_called(name, std::move(done));
      });
  EXPECT_TRUE(called.ok()) << called.error().what;
  return called.ok() ? *called : std::vector<std::string>{"an error"};
}

inline void a_host_is_found_by_each_of_its_names(const World& world) {
  const std::string full = world.host + ".example.org";
  const std::string other = "Node-of-" + world.host;
  const HostInfo info{world.host,   WallMs{1'763'640'000'000}, "0.1.0", "machine-a", 0,
                      {full, other}};
  EXPECT_TRUE(ask<Ok>(world, [&](Callback<Ok> done) {
                world.store().heartbeat(info, std::move(done));
              }).ok());
  const std::vector<std::string> it{world.host};
  std::string loud = world.host;
  for (char& c : loud) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const std::string& name : {world.host, full, other, loud, loud + ".Example.Org"}) {
    EXPECT_EQ(hosts_called(world, name), it) << name;
  }
  for (const std::string& name : {"x" + world.host, "x." + full, "x." + other}) {
    EXPECT_TRUE(hosts_called(world, name).empty()) << name;
  }
}

inline void a_certificate_is_kept(const World& world) {
  Certificate certificate;
  certificate.id = "an-id";
  certificate.host = world.host;
  certificate.address = to_string(address_of(1));
  EXPECT_TRUE(ask<Ok>(world, [&](Callback<Ok> done) {
                world.store().save_certificate(certificate, "{}", std::move(done));
              }).ok());
}

inline Result<std::vector<Arq>> load_arqs(const World& world) {
  return ask<std::vector<Arq>>(world, [&](Callback<std::vector<Arq>> done) {
    world.store().load_arqs(world.host, std::move(done));
  });
}

inline void an_arq_is_kept_until_it_is_removed(const World& world) {
  Arq arq;
  arq.uuid = "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b";
  arq.state = ArqState::bound;
  arq.hostname = world.host;
  arq.instance_uuid = "vm-1";
  arq.address = address_of(1);
  arq.managed = false;
  arq.heard_at = arq.held_at = WallMs{1'763'640'000'123};
  arq.allocation_seen = arq.listed = true;
  const auto save = [&](const Arq& what) {
    return ask<Ok>(world, [&](Callback<Ok> done) {
      world.store().save_arq(world.host, what, std::move(done));
    });
  };
  const auto remove = [&] {
    return ask<Ok>(world, [&](Callback<Ok> done) {
      world.store().remove_arq(world.host, arq.uuid, std::move(done));
    });
  };
  ASSERT_TRUE(load_arqs(world).ok());
  EXPECT_TRUE(load_arqs(world)->empty());
  ASSERT_TRUE(save(arq).ok());
  Arq other = arq;
  other.uuid = "another";
  ASSERT_TRUE(save(other).ok());
  arq.released = true;
  ASSERT_TRUE(save(arq).ok()) << "the newer one counts";
  world.restart();
  auto loaded = load_arqs(world);
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->size(), 2U);
  EXPECT_EQ(std::count(loaded->begin(), loaded->end(), arq), 1);
  EXPECT_TRUE(remove().ok());
  EXPECT_TRUE(remove().ok()) << "gone is gone";
  loaded = load_arqs(world);
  ASSERT_EQ(loaded->size(), 1U);
  EXPECT_EQ(loaded->front(), other);
}

struct Check {
  const char* name;
  void (*run)(const World& world);
};

inline constexpr Check kChecks[] = {
    {"WhatIsSavedIsLoaded", what_is_saved_is_loaded},
    {"OnlyAHigherEpochIsSaved", only_a_higher_epoch_is_saved},
    {"ASaveIsFenced", a_save_is_fenced},
    {"ALockHasOneHolder", a_lock_has_one_holder},
    {"ALockExpires", a_lock_expires},
    {"AHolderMayTakeItsLockAgain", a_holder_may_take_its_lock_again},
    {"ProgressBelongsToItsEpoch", progress_belongs_to_its_epoch},
    {"KicksComeInOrderUntilAcknowledged", kicks_come_in_order_until_acknowledged},
    {"AnOrderIsTakenOnce", an_order_is_taken_once},
    {"AHostNameBelongsToOneMachine", a_host_name_belongs_to_one_machine},
    {"AHostIsFoundByEachOfItsNames", a_host_is_found_by_each_of_its_names},
    {"ACertificateIsKept", a_certificate_is_kept},
    {"AnArqIsKeptUntilItIsRemoved", an_arq_is_kept_until_it_is_removed},
};

}  // namespace reclaim::contract
