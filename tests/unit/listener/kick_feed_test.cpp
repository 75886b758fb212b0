// A kick feed over a store that answers at once: what waits, what is acknowledged.
#include "listener/amqp/kick_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/listener/kick_store.h"

namespace reclaim::listener {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

HostInfo burned(const std::string& name) {
  HostInfo info;
  info.host = name;
  info.burned = 1;
  return info;
}

class KickFeedTest : public ::testing::Test {
 protected:
  void take(const std::string& body) {
    feed.take(body, 7, 1, [](std::string_view why) { FAIL() << why; });
  }
  // Any host could have the device that this frees.
  static constexpr const char* kAnyHost =
      R"({"event_type":"instance.resize_revert.end","publisher_id":"nova-compute:a","payload":)"
      R"({"nova_object.name":"InstanceActionPayload","nova_object.namespace":"nova",)"
      R"("nova_object.version":"1.9","nova_object.data":{"host":"a",)"
      R"("uuid":"178b0921-8f85-4257-88b6-2e743b5a975c"}}})";

  testing::OnlyKicks store;
  testing::HandTimers timers;
  NullLogger log;
  std::vector<std::uint64_t> acked;
  KickFeed feed{store,      timers,
                log,        1 << 20,
                {0, 5, 30}, [this](std::uint64_t tag, std::uint64_t) { acked.push_back(tag); }};
};

TEST_F(KickFeedTest, AcknowledgesOnceEveryHostIsTold) {
  store.known = {burned("a"), burned("b")};
  take(kAnyHost);
  EXPECT_THAT(store.told, ElementsAre("b", "a"));
  EXPECT_THAT(acked, ElementsAre(7));
}

// The queue is the whole fleet's: what cannot be told is not waited for, and not asked for each
// time.
TEST_F(KickFeedTest, InventedHostsDoNotStopTheQueue) {
  store.known = {burned("a")};
  take(kAnyHost);
  store.too_many_hosts = true;
  take(kAnyHost);
  take(kAnyHost);
  EXPECT_THAT(acked, ElementsAre(7, 7, 7));
  EXPECT_THAT(store.told, ElementsAre("a", "a", "a")) << "who was known before is told";
  EXPECT_EQ(store.hosts_asked, 2);
}

TEST_F(KickFeedTest, WaitsWhileRedisIsAway) {
  store.known = {burned("a")};
  store.away = true;
  take(kAnyHost);
  EXPECT_THAT(acked, IsEmpty());
  store.away = false;
  timers.fire_all();
  EXPECT_THAT(store.told, ElementsAre("a"));
  EXPECT_THAT(acked, ElementsAre(7));
}

TEST_F(KickFeedTest, AnEntryThatIsNoHostHoldsNobodyUp) {
  store.known = {burned("a"), burned("b c")};
  store.refused = {"b c"};
  take(kAnyHost);
  EXPECT_THAT(store.told, ElementsAre("a"));
  EXPECT_THAT(acked, ElementsAre(7));
  EXPECT_THAT(timers.waiting, IsEmpty());
}

std::string arq_event(std::string_view event_type, std::string_view hostname) {
  return R"({"event_type":")" + std::string(event_type) +
         R"(","publisher_id":"cyborg-api:ctl","payload":{)"
         R"("uuid":"7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b","hostname":)" +
         std::string(hostname) + R"(,"instance_uuid":"d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc"}})";
}

// Nova binds by the name of the node, which is not always [DEFAULT] host.
TEST_F(KickFeedTest, AnArqFindsItsHostByAnyOfItsNames) {
  HostInfo host;
  host.host = "a";
  host.nodes = {"a.example.org"};
  store.known = {burned("b"), host};
  take(arq_event("accelerator_request.bind.end", "\"A.example.org\""));
  take(arq_event("accelerator_request.bind.end", "\"B\""));
  EXPECT_THAT(store.told, ElementsAre("a", "b"));
}

std::string deleted_on(const std::string& host) {
  return R"({"event_type":"instance.delete.end","publisher_id":"nova-compute:)" + host +
         R"(","payload":{"nova_object.name":"InstanceActionPayload",)"
         R"("nova_object.namespace":"nova","nova_object.version":"1.9",)"
         R"("nova_object.data":{"host":")" +
         host + R"(","uuid":"178b0921-8f85-4257-88b6-2e743b5a975c"}}})";
}

// One name for the publisher and the payload, as Nova writes it.
TEST_F(KickFeedTest, ANamedHostIsLookedUpByItsName) {
  store.known = {burned("a"), burned("b")};
  store.away = true;
  take(deleted_on("a"));
  EXPECT_THAT(acked, IsEmpty());
  store.away = false;
  timers.fire_all();
  EXPECT_THAT(store.told, ElementsAre("a"));
  EXPECT_THAT(acked, ElementsAre(7));
  take(deleted_on("b"));
  EXPECT_EQ(store.names_asked, 3);
  EXPECT_EQ(store.hosts_asked, 0);
}

TEST_F(KickFeedTest, TellsWhoseLifeEndedWhereAndWhen) {
  store.known = {burned("a")};
  std::string body = deleted_on("a");
  body.insert(1, R"("timestamp":"2026-11-20 12:03:08.732315",)");
  take(body);
  EXPECT_EQ(store.kicks.back().life, Life::ends);
  EXPECT_EQ(store.kicks.back().host, "a");
  EXPECT_EQ(to_iso8601(store.kicks.back().sent_at), "2026-11-20T12:03:08.732Z");
}

// Anybody on the bus can invent names; each would be a stream in Redis.
TEST_F(KickFeedTest, AHostThatNeverAnnouncedItselfIsToldNothing) {
  store.known = {burned("a")};
  for (int i = 0; i < 2'000; ++i) {
    take(deleted_on("invented-" + std::to_string(i)));
    take(arq_event("accelerator_request.bind.end", "\"invented-" + std::to_string(i) + "\""));
  }
  EXPECT_THAT(store.told, IsEmpty());
  EXPECT_EQ(acked.size(), 4'000U);
  EXPECT_EQ(feed.unknown_hosts(), 4'000U);
  EXPECT_EQ(store.hosts_asked, 0) << "nor is the fleet read for any of them";
  take(deleted_on("a"));
  EXPECT_THAT(store.told, ElementsAre("a"));
}

TEST_F(KickFeedTest, AHostThatAnnouncesItselfLaterIsFound) {
  take(deleted_on("late"));
  EXPECT_THAT(store.told, IsEmpty());
  store.known = {burned("late")};
  take(deleted_on("LATE"));
  EXPECT_THAT(store.told, ElementsAre("late"));
}

// Its old name still stands in reclaim:hosts; who goes by it now hears as well.
TEST_F(KickFeedTest, AnArqFindsAHostThatWasRenamed) {
  HostInfo renamed;
  renamed.host = "a";
  renamed.nodes = {"a.example.org"};
  store.known = {burned("a.example.org"), renamed};
  take(arq_event("accelerator_request.bind.end", "\"a.example.org\""));
  EXPECT_THAT(store.told, UnorderedElementsAre("a", "a.example.org"));
}

TEST_F(KickFeedTest, AnArqTravelsInItsKick) {
  store.known = {burned("a")};
  take(arq_event("accelerator_request.bind.end", "\"a\""));
  EXPECT_THAT(store.told, ElementsAre("a"));
  ASSERT_EQ(store.kicks.size(), 1U);
  const Kick& kick = store.kicks[0];
  EXPECT_EQ(kick.reason, "accelerator_request.bind.end");
  EXPECT_EQ(kick.instance, "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc");
  EXPECT_TRUE(kick.mark_allocated);
  EXPECT_THAT(kick.delays_s, ElementsAre(0, 5));
  const Result<Arq> arq = decode_arq(kick.arq);
  ASSERT_TRUE(arq.ok()) << kick.arq;
  EXPECT_EQ(arq->uuid, "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b");
  EXPECT_EQ(arq->state, ArqState::bound);
  EXPECT_EQ(arq->hostname, "a");
}

// Cyborg wipes an ARQ's host on unbind: whose book knows it may have no burned device at all.
TEST_F(KickFeedTest, AnArqWithoutAHostIsToldToEveryHost) {
  HostInfo clean;
  clean.host = "c";
  store.known = {burned("a"), clean};
  take(arq_event("accelerator_request.unbind.end", "null"));
  EXPECT_THAT(store.told, ElementsAre("c", "a"));
  EXPECT_THAT(store.kicks[0].delays_s, ElementsAre(0, 5, 30));
  store.told.clear();
  take(kAnyHost);
  EXPECT_THAT(store.told, ElementsAre("a"));
  EXPECT_EQ(store.kicks.back().arq, "");
}

}  // namespace
}  // namespace reclaim::listener
