// Slots of a Redis Cluster: keys, commands, redirects and the map.
#include "state/redis/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "state/redis/keys.h"
#include "state/redis/options.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;

RedisReply number(std::int64_t value) {
  RedisReply reply;
  reply.type = RedisReply::Type::integer;
  reply.integer = value;
  return reply;
}

RedisReply text(std::string value) {
  RedisReply reply;
  reply.type = RedisReply::Type::text;
  reply.text = std::move(value);
  return reply;
}

RedisReply array(std::vector<RedisReply> elements) {
  RedisReply reply;
  reply.type = RedisReply::Type::array;
  reply.elements = std::move(elements);
  return reply;
}

RedisReply node(RedisReply host, std::int64_t port) {
  return array({std::move(host), number(port), text("id")});
}

const RedisAddress kAsked{"seed.example", 7000};

// The specification's vector of the sum, and slots that redis-server 7.0 told (CLUSTER KEYSLOT).
TEST(RedisSlots, OfKeys) {
  EXPECT_EQ(slot_of_key("123456789"), 0x31C3);
  EXPECT_EQ(slot_of_key(""), 0);
  EXPECT_EQ(slot_of_key("foo"), 12182);
  EXPECT_EQ(slot_of_key("\xff\xfe"), slot_of_key("{\xff\xfe}x"));
}

// The examples of "Hash tags".
TEST(RedisSlots, OfKeysWithAHashTag) {
  EXPECT_EQ(slot_of_key("{user1000}.following"), slot_of_key("user1000"));
  EXPECT_EQ(slot_of_key("{user1000}.following"), slot_of_key("{user1000}.followers"));
  EXPECT_NE(slot_of_key("foo{}{bar}"), slot_of_key("bar"));
  EXPECT_EQ(slot_of_key("foo{{bar}}zap"), slot_of_key("{bar"));
  EXPECT_EQ(slot_of_key("foo{bar}{zap}"), slot_of_key("bar"));
  EXPECT_NE(slot_of_key("foo{bar"), slot_of_key("bar"));
  EXPECT_NE(slot_of_key("foo}{bar"), slot_of_key("bar"));
}

TEST(RedisSlots, AllKeysOfAHostAreInOne) {
  EXPECT_EQ(slot_of_key(redis_keys::of_host("compute-1", "kicks")), slot_of_key("compute-1"));
  EXPECT_EQ(slot_of_key(redis_keys::of_device("compute-1", "device", "0000:01:00.0")),
            slot_of_key("compute-1"));
}

TEST(RedisSlots, WhereACommandHasItsKey) {
  const auto key = [](const std::vector<std::string>& command) {
    const auto at = first_key_of(command);
    return at ? command[*at] : "none";
  };
  EXPECT_EQ(key({"GET", "k"}), "k");
  EXPECT_EQ(key({"FCALL", "f", "2", "k", "l", "arg"}), "k");
  EXPECT_EQ(key({"FCALL", "f", "0"}), "none");
  EXPECT_EQ(key({"EVALSHA", "sha", "2", "k", "l", "arg"}), "k");
  EXPECT_EQ(key({"EVAL", "return 1", "0"}), "none");
  EXPECT_EQ(key({"EVAL", "return 1", "0", "arg"}), "none");
  EXPECT_EQ(key({"XGROUP", "CREATE", "k", "workers", "0"}), "k");
  EXPECT_EQ(key({"XREAD", "COUNT", "1", "STREAMS", "k", "l", "0", "0"}), "k");
  EXPECT_EQ(key({"XREADGROUP", "GROUP", "g", "h", "STREAMS", "k", ">"}), "k");
  EXPECT_EQ(key({"XREAD", "COUNT"}), "none");
  EXPECT_EQ(key({"PING"}), "none");
  EXPECT_EQ(key({"INFO"}), "none");
}

TEST(RedisSlots, Redirects) {
  const auto to = [](std::string_view said) {
    const auto redirect = redirect_in(error_from_redis(said));
    return redirect ? (redirect->ask ? "ask " : "moved ") + describe(redirect->to) : "none";
  };
  EXPECT_EQ(to("MOVED 3999 127.0.0.1:6381"), "moved 127.0.0.1:6381");
  EXPECT_EQ(to("ASK 3999 node.example:6381"), "ask node.example:6381");
  EXPECT_EQ(to("MOVED 3999 2001:db8::1:6381"), "moved [2001:db8::1]:6381");
  EXPECT_EQ(to("MOVED 3999 :6381"), "moved :6381") << "the host that was asked";
  EXPECT_EQ(to("MOVED 3999 ?:6381"), "moved :6381");
  EXPECT_EQ(to("MOVED 3999 127.0.0.1:0"), "none");
  EXPECT_EQ(to("MOVED 3999 127.0.0.1"), "none");
  EXPECT_EQ(to("MOVED 127.0.0.1:6381"), "none");
  EXPECT_EQ(to("ERR MOVED 1 h:1"), "none");
  EXPECT_FALSE(redirect_in(Error{Errc::refused, "MOVED 3999 127.0.0.1:6381"}));
}

TEST(RedisSlots, Passages) {
  for (const char* said : {"TRYAGAIN Multiple keys", "CLUSTERDOWN The cluster is down",
                           "LOADING Redis is loading", "MASTERDOWN Link with MASTER is down"}) {
    EXPECT_TRUE(says_try_again(error_from_redis(said))) << said;
  }
  for (const char* said : {"CROSSSLOT Keys", "MOVED 1 h:1", "OOM command", "ERR TRYAGAIN"}) {
    EXPECT_FALSE(says_try_again(error_from_redis(said))) << said;
  }
}

TEST(RedisSlots, TheMapIsWhatANodeSays) {
  const auto map =
      slot_map_from(array({array({number(0), number(5460), node(text("10.0.0.1"), 7001),
                                  node(text("10.0.0.4"), 7004), node(text("10.0.0.5"), 7005)}),
                           array({number(5461), number(10922), node(text("10.0.0.2"), 7002)}),
                           array({number(10924), number(16383), node(text("10.0.0.1"), 7001)})}),
                    kAsked);
  ASSERT_TRUE(map.ok()) << map.error().what;
  EXPECT_EQ(map->masters(),
            (std::vector<SlotMaster>{{{"10.0.0.1", 7001}, 2}, {{"10.0.0.2", 7002}, 0}}));
  EXPECT_EQ(*map->owner_of(5460), (RedisAddress{"10.0.0.1", 7001}));
  EXPECT_EQ(*map->owner_of(5461), (RedisAddress{"10.0.0.2", 7002}));
  EXPECT_EQ(map->owner_of(10923), nullptr);
  EXPECT_EQ(*map->owner_of(16383), (RedisAddress{"10.0.0.1", 7001}));
  EXPECT_EQ(map->uncovered(), 1U);
  SlotMap moved = *map;
  ASSERT_TRUE(moved.give(10923, 10923, SlotMaster{{"10.0.0.9", 7009}, 0}));
  EXPECT_EQ(moved.owner_of(10923)->host, "10.0.0.9");
  EXPECT_EQ(moved.uncovered(), 0U);
}

TEST(RedisSlots, AClusterIsDescribedByItsSeedsAndHasOneDatabase) {
  RedisOptions options;
  options.host.clear();
  options.cluster = {{"n1", 1}, {"::1", 2}};
  EXPECT_EQ(describe(options), "the cluster of n1:1, [::1]:2");
  EXPECT_TRUE(check_options(options).ok());
  options.db = 1;
  EXPECT_THAT(check_options(options).error().what, HasSubstr("no database but 0"));
}

TEST(RedisSlots, ANodeMayNotKnowItsHost) {
  const auto host = [](RedisReply told) {
    const auto map =
        slot_map_from(array({array({number(0), number(16383), std::move(told)})}), kAsked);
    return map.ok() ? map->owner_of(0)->host : map.error().what;
  };
  EXPECT_EQ(host(node(RedisReply{}, 7001)), "seed.example");
  EXPECT_EQ(host(node(text(""), 7001)), "seed.example");
  EXPECT_EQ(host(node(text("?"), 7001)), "seed.example");
  EXPECT_EQ(host(array({text("?"), number(7001), text("id"), array({text("ip"), text("::1")})})),
            "::1");
  EXPECT_EQ(
      host(array({text("n.example"), number(7001), text("id"), array({text("ip"), text("::1")})})),
      "n.example");
}

TEST(RedisSlots, WhatIsNoMapIsRefused) {
  const auto error = [](const RedisReply& answer) {
    const auto map = slot_map_from(answer, kAsked);
    return map.ok() ? "" : map.error().what;
  };
  const std::string malformed = "not of its form";
  EXPECT_THAT(error(text("OK")), HasSubstr(malformed));
  EXPECT_THAT(error(array({array({number(0), number(1)})})), HasSubstr(malformed));
  EXPECT_THAT(error(array({array({number(2), number(1), node(text("h"), 1)})})),
              HasSubstr(malformed));
  EXPECT_THAT(error(array({array({number(-1), number(1), node(text("h"), 1)})})),
              HasSubstr(malformed));
  EXPECT_THAT(error(array({array({number(0), number(16384), node(text("h"), 1)})})),
              HasSubstr(malformed));
  EXPECT_THAT(error(array({array({number(0), number(1), node(text("h"), 0)})})),
              HasSubstr(malformed));
  EXPECT_THAT(error(array({array({number(0), number(1), node(text("h"), 65536)})})),
              HasSubstr(malformed));
  EXPECT_EQ(error(array({})), "");
  std::vector<RedisReply> many;
  many.reserve(600);
  for (int i = 0; i < 600; ++i) {
    many.push_back(array({number(i), number(i), node(text("h"), 1000 + i)}));
  }
  EXPECT_THAT(error(array(std::move(many))), HasSubstr("more than 512 masters"));
}

}  // namespace
}  // namespace reclaim
