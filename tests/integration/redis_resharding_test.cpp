// Commands for a Redis Cluster whose slots are moved from one master to another meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/redis/cluster.h"
#include "tests/integration/redis_nodes.h"
#include "tests/integration/store_on_redis.h"

namespace reclaim {
namespace {

using test::RedisNodes;
using test::run_until;
using test::StoreOn;
using ::testing::HasSubstr;

constexpr const char* kTag = "{compute-1}";

class RedisResharding : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    nodes = std::make_unique<RedisNodes>(0);
    at = nodes->master_of(kTag);
  }
  static void TearDownTestSuite() { nodes.reset(); }

  RedisResharding() : from_(at), to_((at + 1) % RedisNodes::kMasters) {}

  // Moves the slot step by step, `between` each two of them.
  void move(const std::function<void()>& between) {
    nodes->begin_move(kTag, from_, to_);
    between();
    while (nodes->move_a_key(kTag, from_, to_)) between();
    between();
    nodes->end_move(kTag, from_, to_);
    between();
    at = to_;
  }

  static std::unique_ptr<RedisNodes> nodes;
  static std::size_t at;  // who has the slot
  std::size_t from_;
  std::size_t to_;
  NullLogger logger_;
};

std::unique_ptr<RedisNodes> RedisResharding::nodes;
std::size_t RedisResharding::at = 0;

// Sends without waiting for answers, and notes what is not as it has to be.
class Sender {
 public:
  explicit Sender(Redis& redis) : redis_(redis) {}

  void send(std::vector<std::string> words, std::string expected) {
    const std::size_t turn = sent++;
    redis_.command(std::move(words),
                   [this, turn, expected = std::move(expected)](const Result<RedisReply>& reply) {
                     EXPECT_EQ(turn, answered++) << "carried out in the order of sending";
                     ASSERT_TRUE(reply.ok()) << reply.error().what;
                     const bool number = reply->type == RedisReply::Type::integer;
                     EXPECT_EQ(number ? std::to_string(reply->integer) : reply->text, expected);
                   });
  }

  std::size_t sent = 0;
  std::size_t answered = 0;

 private:
  Redis& redis_;
};

TEST_F(RedisResharding, NothingIsLostDoneTwiceOrOutOfOrder) {
  uv::Loop loop;
  auto created = Redis::create(loop.raw(), nodes->options(), logger_);
  ASSERT_TRUE(created.ok());
  Redis& redis = **created;
  redis.start();
  ASSERT_TRUE(run_until(loop, [&] { return redis.state().connected; }));
  Sender sender(redis);
  std::size_t rounds = 0;
  constexpr std::size_t kLists = 8;
  const auto key = [](std::size_t of) { return std::string(kTag) + ":list:" + std::to_string(of); };
  const auto some = [&] {
    for (int i = 0; i < 5; ++i, ++rounds) {
      for (std::size_t of = 0; of < kLists; ++of) {
        sender.send({"RPUSH", key(of), std::to_string(rounds)}, std::to_string(rounds + 1));
      }
      sender.send({"GETSET", std::string(kTag) + ":last", std::to_string(rounds)},
                  rounds == 0 ? "" : std::to_string(rounds - 1));
      // Of two keys: refused (TRYAGAIN) while they are apart.
      sender.send({"EVAL", "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[2])", "2",
                   std::string(kTag) + ":one", std::string(kTag) + ":two"},
                  std::to_string(rounds + 1));
    }
    const std::size_t before = sender.answered;
    run_until(
        loop, [&] { return sender.answered > before + 3; }, 200);
  };
  some();
  move(some);
  ASSERT_TRUE(run_until(loop, [&] { return sender.answered == sender.sent; }));
  for (std::size_t of = 0; of < kLists; ++of) {
    EXPECT_EQ(nodes->cli({"LLEN", key(of)}), std::to_string(rounds));
  }
  EXPECT_GE(rounds, 40U);
  EXPECT_TRUE(redis.state().connected);
  EXPECT_EQ(redis.state().connects, 1U);
}

// The worker's own commands: what a script waits for is the end of the move.
TEST_F(RedisResharding, RecordsLocksAndKicksGoOn) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  int heard = 0;
  redis.store->watch_kicks(world.host, [&] { ++heard; });
  world.run_until([&] { return heard >= 1; });
  std::uint64_t epoch = 0;
  std::size_t asked = 0;
  std::size_t answered = 0;
  const auto note = [&](const Result<Ok>& done) {
    EXPECT_TRUE(done.ok()) << done.error().what;
    ++answered;
  };
  const auto work = [&] {
    asked += 3;
    redis.store->save(contract::record_of(world, 1, ++epoch, Stage::error), {}, {}, note);
    redis.store->push_kick(world.host, Kick{}, note);
    Order order;
    order.order = "clean";
    redis.store->push_order(world.host, order, note);
    test::run_for(redis.loop, 100);
  };
  work();
  move(work);
  world.run_until([&] { return asked == answered; });
  EXPECT_EQ(contract::load(world)->front().epoch, epoch);
  EXPECT_EQ(contract::read(world, 100).size(), asked / 3);
  const auto orders =
      contract::ask<std::vector<Order>>(world, [&](Callback<std::vector<Order>> done) {
        redis.store->take_orders(world.host, 100, std::move(done));
      });
  EXPECT_EQ(orders->size(), asked / 3);
  // And who waits for kicks waits where they come now.
  test::run_for(redis.loop, 2'000);
  const int before = heard;
  ASSERT_TRUE(contract::push(world, "after").ok());
  world.run_until([&] { return heard > before; });
  EXPECT_TRUE(redis.store->state().connected);
}

// The old node of a slot that moves refuses to create a key: a save that deletes the record first
// would lose it.
TEST_F(RedisResharding, ARecordOutlivesItsOwnSaveWhereTheMoveBegan) {
  StoreOn redis(nodes->options());
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  ASSERT_TRUE(contract::save(world, contract::record_of(world, 4, 1, Stage::error)).ok());
  // Each key that the script names, or it is not begun there.
  nodes->cli({"SET", "reclaim:{compute-1}:lock:0000:01:04.0", "another 1"});
  nodes->cli({"XADD", "reclaim:{compute-1}:outbox", "*", "event", "x"});
  nodes->cli({"SET", "reclaim:{compute-1}:outbox_dropped", "0"});
  nodes->begin_move(kTag, from_, to_);
  EXPECT_TRUE(contract::save(world, contract::record_of(world, 4, 2, Stage::error)).ok());
  EXPECT_EQ(nodes->cli({"HGET", "reclaim:{compute-1}:device:0000:01:04.0", "epoch"}), "2");
  while (nodes->move_a_key(kTag, from_, to_)) {
  }
  nodes->end_move(kTag, from_, to_);
  at = to_;
}

TEST_F(RedisResharding, AScriptThatCannotWaitSoLongIsRefusedAndNotDone) {
  RedisOptions impatient = nodes->options();
  impatient.command_timeout_ms = 500;
  StoreOn redis(impatient);
  ASSERT_TRUE(redis.connected());
  const contract::World world = redis.world("compute-1");
  nodes->cli({"SET", std::string(kTag) + ":x", "there"});
  nodes->begin_move(kTag, from_, to_);
  // A slow machine may be late with the last answer, too; then nobody knows, and it is tried again.
  Result<Ok> refused = Error{Errc::unknown, ""};
  ASSERT_TRUE(run_until(redis.loop, [&] {
    refused = contract::save(world, contract::record_of(world, 3, 1, Stage::error));
    return contract::code_of(refused) != Errc::unknown;
  }));
  EXPECT_EQ(contract::code_of(refused), Errc::unavailable);
  EXPECT_THAT(refused.error().what, HasSubstr("TRYAGAIN"));
  while (nodes->move_a_key(kTag, from_, to_)) {
  }
  nodes->end_move(kTag, from_, to_);
  at = to_;
  EXPECT_EQ(nodes->cli({"EXISTS", "reclaim:{compute-1}:device:0000:01:03.0"}), "0");
  EXPECT_TRUE(contract::save(world, contract::record_of(world, 3, 1, Stage::error)).ok());
}

TEST_F(RedisResharding, WhoMayNotAskForASlotThatMovesIsTold) {
  for (const auto& server : nodes->all()) {
    server->cli({"ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "-asking"});
  }
  RedisOptions options = nodes->options();
  options.username = "mute";
  options.password = "pw";
  uv::Loop loop;
  auto created = Redis::create(loop.raw(), options, logger_);
  ASSERT_TRUE(created.ok());
  (*created)->start();
  ASSERT_TRUE(run_until(loop, [&] { return (*created)->state().connected; }));
  nodes->begin_move(kTag, from_, to_);
  std::string said;
  (*created)->command(
      {"GET", std::string(kTag) + ":not there"},
      [&](const Result<RedisReply>& reply) { said = reply.ok() ? "ok" : reply.error().what; });
  ASSERT_TRUE(run_until(loop, [&] { return !said.empty(); }));
  EXPECT_THAT(said, HasSubstr("was redirected 5 times and no node accepted it"));
  EXPECT_THAT(said, HasSubstr("+asking"));
  while (nodes->move_a_key(kTag, from_, to_)) {
  }
  nodes->end_move(kTag, from_, to_);
  at = to_;
}

// A node that no map has told of yet: ASK is the first word of it.
TEST_F(RedisResharding, AMasterThatJoinsIsConnectedTo) {
  uv::Loop loop;
  auto created = Redis::create(loop.raw(), nodes->options(), logger_);
  ASSERT_TRUE(created.ok());
  Redis& redis = **created;
  redis.start();
  ASSERT_TRUE(run_until(loop, [&] { return redis.state().connected; }));
  to_ = nodes->add_master();
  Sender sender(redis);
  std::size_t counted = 0;
  move([&] {
    sender.send({"INCR", std::string(kTag) + ":counted"}, std::to_string(++counted));
    ASSERT_TRUE(run_until(loop, [&] { return sender.answered == sender.sent; }));
  });
  EXPECT_TRUE(redis.state().connected);
  EXPECT_EQ(redis.state().connects, 1U);
  // What it is asked is told with the others.
  std::size_t masters = 0;
  ASSERT_TRUE(run_until(loop, [&] {
    std::optional<std::size_t> told;
    redis.ask_each({"INFO"}, [&](const Result<std::vector<RedisSaid>>& said) {
      told = said.ok() ? said->size() : 0;
    });
    run_until(loop, [&] { return told.has_value(); });
    masters = told.value_or(0);
    return masters == RedisNodes::kMasters + 1;
  }));
  EXPECT_EQ(masters, RedisNodes::kMasters + 1);
}

}  // namespace
}  // namespace reclaim
