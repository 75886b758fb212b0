// A RedisStore on servers of the test's own, as the worlds of the store's contract.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "state/redis/store.h"
#include "tests/integration/redis_server.h"
#include "tests/integration/store_contract.h"

namespace reclaim::test {

// One loop, one store on the Redis of `redis`; restart() is the worker's death and return.
class StoreOn {
 public:
  explicit StoreOn(RedisOptions redis) {
    options.redis = std::move(redis);
    options.writes_schema = true;  // as a worker
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

  RedisStoreOptions options;
  SystemClock clock;
  NullLogger logger;
  uv::Loop loop;
  std::unique_ptr<RedisStore> store;
};

// Keeps what is told with a level.
class Told final : public Logger {
 public:
  explicit Told(LogLevel level) : level_(level) {}
  void write(LogLevel level, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    if (level == level_) all.emplace_back(text);
  }
  std::vector<std::string> all;

 private:
  LogLevel level_;
};

struct OneServer {
  RedisServer server;
};

// On a server of its own.
class StoreOnRedis : public OneServer, public StoreOn {
 public:
  explicit StoreOnRedis(std::vector<std::string> server_options = {})
      : OneServer{RedisServer(std::move(server_options))}, StoreOn(server.options()) {}
};

}  // namespace reclaim::test
