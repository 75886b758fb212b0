// A RedisStore on a redis-server of the test's own, as the worlds of the store's contract.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/redis/store.h"
#include "tests/integration/redis_server.h"
#include "tests/integration/store_contract.h"

namespace reclaim::test {

// One Redis, one loop, one store on it; restart() is the worker's death and return.
class StoreOnRedis {
 public:
  explicit StoreOnRedis(std::vector<std::string> server_options = {})
      : server(std::move(server_options)) {
    options.redis = server.options();
    open();
  }

  void open() {
    store.reset();
    auto created = RedisStore::create(loop.raw(), options, clock, logger);
    CHECK(created.ok());
    store = *std::move(created);
    store->start();
  }
  bool connected() {
    return test::run_until(loop, [this] { return store->state().connected; });
  }

  contract::World world(const std::string& host) {
    contract::World world;
    world.host = host;
    world.store = [this]() -> Store& { return *store; };
    world.run_until = [this](const std::function<bool()>& holds) {
      EXPECT_TRUE(test::run_until(loop, holds));
    };
    world.restart = [this] {
      open();
      EXPECT_TRUE(connected());
    };
    world.pass_time = [this](std::int64_t ms) { test::run_for(loop, static_cast<int>(ms)); };
    return world;
  }

  RedisServer server;
  RedisStoreOptions options;
  SystemClock clock;
  NullLogger logger;
  uv::Loop loop;
  std::unique_ptr<RedisStore> store;
};

}  // namespace reclaim::test
