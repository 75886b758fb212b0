// A kick feed over a store that answers at once: what waits, what is acknowledged.
#include "listener/kick_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace reclaim::listener {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Only what the feed asks for; everything else would be a mistake of the feed.
class OnlyKicks final : public Store {
 public:
  std::vector<HostInfo> known;
  std::set<std::string> refused;  // hosts whose name no key can bear
  bool away = false;
  std::vector<std::string> told;

  void push_kick(const std::string& host, const Kick& /*kick*/, StoreCallback<Ok> done) override {
    if (away) return done(Error{Errc::unavailable, "Redis is away"});
    if (refused.contains(host)) return done(Error{Errc::invalid, "no name of a host"});
    told.push_back(host);
    done(Ok{});
  }
  void hosts(StoreCallback<std::vector<HostInfo>> done) override { done(known); }

  void load(const std::string&, StoreCallback<std::vector<Record>>) override { FAIL(); }
  void save(const Record&, LockToken, const JournalEntry&, StoreCallback<Ok>) override { FAIL(); }
  void save_progress(const Record&, StoreCallback<Ok>) override { FAIL(); }
  void acquire_lock(const std::string&, const PciAddress&, const std::string&, std::int64_t,
                    StoreCallback<LockToken>) override {
    FAIL();
  }
  void renew_lock(const std::string&, const PciAddress&, LockToken, std::int64_t,
                  StoreCallback<Ok>) override {
    FAIL();
  }
  void release_lock(const std::string&, const PciAddress&, LockToken, StoreCallback<Ok>) override {
    FAIL();
  }
  void read_kicks(const std::string&, std::size_t, StoreCallback<std::vector<Kick>>) override {
    FAIL();
  }
  void ack_kicks(const std::string&, const std::vector<std::string>&, StoreCallback<Ok>) override {
    FAIL();
  }
  void heartbeat(const HostInfo&, StoreCallback<Ok>) override { FAIL(); }
  void save_certificate(const Certificate&, const std::string&, StoreCallback<Ok>) override {
    FAIL();
  }
};

// Fires when the test says so.
class HandTimers final : public Timers {
 public:
  std::uint64_t after(std::int64_t /*delay_ms*/, std::function<void()> fire) override {
    waiting.push_back(std::move(fire));
    return waiting.size();
  }
  void cancel(std::uint64_t /*id*/) override {}
  void fire_all() {
    for (const auto& fire : std::exchange(waiting, {})) fire();
  }
  std::vector<std::function<void()>> waiting;
};

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

  OnlyKicks store;
  HandTimers timers;
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
