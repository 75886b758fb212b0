// A kick feed over a store that answers at once: what waits, what is acknowledged.
#include "listener/kick_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/listener/kick_store.h"

namespace reclaim::listener {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace reclaim::listener
