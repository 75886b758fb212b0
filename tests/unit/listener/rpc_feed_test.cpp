// The feed of RPC requests over a store that answers at once: what becomes a kick, what is
// acknowledged when, and who gets an answer.
#include "listener/amqp/rpc_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/listener/kick_store.h"

namespace reclaim::listener {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string cleanup(std::string_view more = "", std::string_view version = "1.1",
                    std::string_view board = R"({\"pci_address\": \"0000:0c:00.0\"})") {
  return R"({"method": "cleanup_device", "version": ")" + std::string(version) +
         R"(", "_context_request_id": "req-1", "args": {"device": {)"
         R"("cyborg_object.name": "Device", "cyborg_object.version": "1.3", )"
         R"("cyborg_object.data": {"hostname": "cmp1", "std_board_info": ")" +
         std::string(board) + R"("}}})" + std::string(more) + "}";
}

constexpr std::string_view kCall = R"(, "_msg_id": "m1", "_reply_q": "reply_1")";

class RpcFeedTest : public ::testing::Test {
 protected:
  struct Answer {
    std::uint64_t tag = 0;
    std::string queue;
    std::string body;
  };

  void take(RpcFeed& feed, const std::string& body, std::uint64_t incarnation = 1) {
    feed.take(body, 7, incarnation, [this](std::string_view why) { dead.emplace_back(why); });
  }
  RpcFeed make(bool serve) {
    return {store,
            timers,
            log,
            {"cmp1", serve, {0, 5, 30}},
            {[this](std::uint64_t tag, std::uint64_t) { acked.push_back(tag); },
             [this](std::uint64_t tag, std::uint64_t, const std::string& queue, std::string body) {
               answers.push_back({tag, queue, std::move(body)});
             }}};
  }

  testing::OnlyKicks store;
  testing::HandTimers timers;
  NullLogger log;
  std::vector<std::uint64_t> acked;
  std::vector<Answer> answers;
  std::vector<std::string> dead;
};

TEST_F(RpcFeedTest, ACastBecomesTheCommandAndIsNeverAnswered) {
  RpcFeed feed = make(true);
  take(feed, cleanup());
  ASSERT_EQ(store.kicks.size(), 1U);
  EXPECT_THAT(store.told, ElementsAre("cmp1"));
  EXPECT_EQ(store.kicks[0].reason, "cyborg-agent.cleanup_device");
  EXPECT_EQ(store.kicks[0].command, "cleanup_device");
  EXPECT_EQ(store.kicks[0].address, "0000:0c:00.0");
  EXPECT_EQ(store.kicks[0].request_id, "req-1");
  EXPECT_THAT(store.kicks[0].delays_s, ElementsAre(0, 5, 30));
  EXPECT_THAT(acked, ElementsAre(7));
  EXPECT_THAT(answers, IsEmpty());
}

TEST_F(RpcFeedTest, AcksOnlyWhatRedisHasTaken) {
  RpcFeed feed = make(true);
  store.away = true;
  take(feed, cleanup());
  take(feed, cleanup(kCall));
  EXPECT_THAT(acked, IsEmpty());
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_EQ(feed.waiting(), 2U);
  store.away = false;
  timers.fire_all();
  EXPECT_THAT(acked, ElementsAre(7));
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_EQ(feed.waiting(), 0U);
}

TEST_F(RpcFeedTest, WhatAnOldConnectionBroughtIsForgotten) {
  RpcFeed feed = make(true);
  store.away = true;
  take(feed, cleanup(kCall), 1);
  take(feed, cleanup(kCall), 2);
  store.away = false;
  timers.fire_all();
  EXPECT_EQ(answers.size(), 1U);
}

TEST_F(RpcFeedTest, ACallIsAnsweredWhereItIsServed) {
  RpcFeed feed = make(true);
  take(feed, cleanup(kCall));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].tag, 7U);
  EXPECT_EQ(answers[0].queue, "reply_1");
  EXPECT_THAT(answers[0].body, HasSubstr(R"(\"result\":null,\"failure\":null,\"ending\":true)"));
  EXPECT_THAT(acked, IsEmpty());  // the answer settles it
  EXPECT_EQ(store.kicks.size(), 1U);
  take(feed, cleanup(kCall, "2.0"));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_THAT(answers[1].body, HasSubstr("UnsupportedVersion"));
  take(feed, R"({"method": "fpga_program", "version": "1.0")" + std::string(kCall) + "}");
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_THAT(answers[2].body, HasSubstr("NoSuchMethod"));
  EXPECT_EQ(store.kicks.size(), 1U);
}

TEST_F(RpcFeedTest, BesideAnAgentACallIsHeardAndLeftToIt) {
  RpcFeed feed = make(false);
  take(feed, cleanup(kCall));
  take(feed, cleanup(kCall, "2.0"));
  EXPECT_EQ(store.kicks.size(), 1U);
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_THAT(acked, ElementsAre(7, 7));
}

TEST_F(RpcFeedTest, OtherCastsAreLetGo) {
  RpcFeed feed = make(true);
  take(feed, R"({"method": "fpga_program", "version": "1.0"})");
  take(feed, cleanup("", "2.0"));
  EXPECT_THAT(store.kicks, IsEmpty());
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_THAT(acked, ElementsAre(7, 7));
  EXPECT_EQ(feed.counters().ignored, 2U);
}

TEST_F(RpcFeedTest, ADeviceWithoutAnAddressIsALookAtTheHost) {
  RpcFeed feed = make(true);
  take(feed, cleanup("", "1.1", "{}"));
  ASSERT_EQ(store.kicks.size(), 1U);
  EXPECT_EQ(store.kicks[0].command, "");
  EXPECT_EQ(store.kicks[0].address, "");
  EXPECT_EQ(store.kicks[0].reason, "cyborg-agent.cleanup_device");
}

TEST_F(RpcFeedTest, WhatNobodyCanReadIsPutAside) {
  RpcFeed feed = make(true);
  take(feed, "{}");
  EXPECT_THAT(dead, ElementsAre(HasSubstr("method is absent")));
  EXPECT_THAT(acked, IsEmpty());
  EXPECT_EQ(feed.counters().rejected, 1U);
}

}  // namespace
}  // namespace reclaim::listener
