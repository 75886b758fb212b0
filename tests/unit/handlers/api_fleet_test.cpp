// A node answers for the whole fleet in Redis: read once for all who ask, bounded, and never by
// half.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ApiFleetTest : public ApiTest {
 protected:
  const std::string unknown_ = "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e";
  void many_hosts(int count) {
    store.workers.clear();
    for (int i = 0; i < count; ++i) {
      const std::string host = fmt::format("compute-{:03}", i);
      store.workers.push_back({host, clock.now().wall, "1.0", "m", 0});
      drive(host, "0000:01:00.0", Stage::available);
    }
  }
};

TEST_F(ApiFleetTest, OneNodeAnswersForAllHosts) {
  drive("compute-1", "0000:01:00.0", Stage::available);
  drive("compute-2", "0000:02:00.0", Stage::allocated);
  const Response response = get("/v2/devices");
  EXPECT_THAT(response.body, HasSubstr("compute-1"));
  EXPECT_THAT(response.body, HasSubstr("compute-2"));
}

TEST_F(ApiFleetTest, WhoAsksAtTheSameTimeIsAnsweredFromOneReading) {
  int answers = 0;
  for (int i = 0; i < 50; ++i) {
    api->handle(request("GET", "/v2/devices"),
                [&](const Response& response) { answers += response.status == 200 ? 1 : 0; });
  }
  run();
  EXPECT_EQ(answers, 50);
  EXPECT_EQ(store.hosts_asked, 1);
  EXPECT_THAT(store.loaded, ElementsAre("compute-1", "compute-2"));
}

TEST_F(ApiFleetTest, AListOfALargeFleetIsMadeOverManyTurnsOfTheLoop) {
  many_hosts(2'000);
  const Response list = get("/v2/devices");
  EXPECT_THAT(list.body, HasSubstr("compute-1999"));
  EXPECT_GE(turns.turns, 7);
  // A filter that lets nothing through has as much to look at.
  turns.turns = 0;
  EXPECT_EQ(get("/v2/devices?vendor=none").body, R"({"devices":[]})");
  EXPECT_GE(turns.turns, 7);
  turns.turns = 0;
  static_cast<void>(get("/v2/devices?hostname=compute-1999"));
  EXPECT_EQ(turns.turns, 1);
}

TEST_F(ApiFleetTest, ListsAskedForTogetherAreMadeOneAfterTheOther) {
  many_hosts(1'000);
  static_cast<void>(get("/v2/devices"));
  turns.turns = 0;
  std::vector<int> answered_in;
  for (int i = 0; i < 3; ++i) {
    api->handle(request("GET", "/v2/devices"),
                [&](const Response& /*response*/) { answered_in.push_back(turns.turns); });
  }
  run();
  EXPECT_THAT(answered_in, ElementsAre(4, 8, 12));
}

TEST_F(ApiFleetTest, WhoAsksAgainAtOnceIsAnsweredToo) {
  drive("compute-1", "0000:01:00.0", Stage::available);
  int answers = 0;
  api->handle(request("GET", "/v2/devices"), [&](const Response& /*first*/) {
    answers += 1;
    api->handle(request("GET", "/v2/devices"), [&](const Response& /*second*/) { answers += 1; });
  });
  run();
  EXPECT_EQ(answers, 2);
}

TEST_F(ApiFleetTest, WhatWasReadIsAnsweredFromForAMomentOnly) {
  static_cast<void>(get("/v2/devices"));
  clock.advance(900);
  static_cast<void>(get("/v2/devices"));
  EXPECT_EQ(store.loaded.size(), 2U);
  clock.advance(101);
  drive("compute-1", "0000:01:00.0", Stage::available);
  EXPECT_THAT(get("/v2/devices").body, HasSubstr("0000:01:00.0"));
  EXPECT_EQ(store.loaded.size(), 4U);
}

TEST_F(ApiFleetTest, AViewIsKeptAsLongAsItTookToMake) {
  for (const std::string& path : {"/v2/devices/" + unknown_, std::string("/v2/devices"),
                                  "/v2/accelerator_requests/" + unknown_}) {
    clock.advance(100'000);
    store.loaded.clear();
    api->handle(request("GET", path), [](const Response& /*response*/) {});
    // Keystone and the hosts answer at once, the last of the records after eight seconds.
    while (store.loaded.empty()) run_one();
    clock.advance(8'000);
    run();
    ASSERT_EQ(store.loaded.size(), 2U) << path;
    clock.advance(7'900);
    static_cast<void>(get(path));
    EXPECT_EQ(store.loaded.size(), 2U) << path;
    clock.advance(200);
    static_cast<void>(get(path));
    EXPECT_EQ(store.loaded.size(), 4U) << path;
  }
}

TEST_F(ApiFleetTest, WhatIsNoUuidIs404AndNothingIsRead) {
  for (const std::string path : {"/v2/devices/x", "/v2/devices/x/cleaning/steps",
                                 "/v2/accelerator_requests/x", "/v2/devices/%2A"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  EXPECT_EQ(post("/v2/devices/x/clean").status, 404);
  EXPECT_EQ(store.hosts_asked, 0);
}

TEST_F(ApiFleetTest, ADeviceThatIsGoneIsForgotten) {
  const std::string uuid = drive("compute-2", "0000:02:00.0", Stage::allocated).uuid;
  EXPECT_EQ(get("/v2/devices/" + uuid).status, 200);
  store.records["compute-2"].clear();
  EXPECT_EQ(get("/v2/devices/" + uuid).status, 404);
  clock.advance(2'000);
  static_cast<void>(get("/v2/devices"));
  store.loaded.clear();
  EXPECT_EQ(get("/v2/devices/" + uuid).status, 404);
  EXPECT_TRUE(store.loaded.empty()) << "its host is not asked again";
}

TEST_F(ApiFleetTest, HostsAreReadABoundedNumberAtATime) {
  many_hosts(200);
  EXPECT_EQ(get("/v2/devices").status, 200);
  EXPECT_EQ(store.loaded.size(), 200U);
  EXPECT_EQ(store.loads_under_way_most, 32U);
}

TEST_F(ApiFleetTest, AHostFilterReadsThatHostOnly) {
  drive("compute-1", "0000:01:00.0", Stage::available);
  drive("compute-2", "0000:02:00.0", Stage::allocated);
  const Response response = get("/v2/devices?hostname=compute-2");
  EXPECT_THAT(response.body, HasSubstr("0000:02:00.0"));
  EXPECT_THAT(response.body, Not(HasSubstr("0000:01:00.0")));
  EXPECT_THAT(store.loaded, ElementsAre("compute-2"));
}

TEST_F(ApiFleetTest, AHostThatNeverWorkedHasNoDevicesAndNoKey) {
  const Response response = get("/v2/devices?hostname=%7Bx%7D:y");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"devices":[]})");
  EXPECT_TRUE(store.loaded.empty());
}

TEST_F(ApiFleetTest, OneDeviceIsReadAnewOfItsHostOnly) {
  const std::string uuid = drive("compute-2", "0000:02:00.0", Stage::allocated).uuid;
  static_cast<void>(get("/v2/devices"));
  store.loaded.clear();
  store.records["compute-2"][0].stage = Stage::pending_cleaning;
  EXPECT_THAT(get("/v2/devices/" + uuid).body, HasSubstr("pending_cleaning"));
  EXPECT_THAT(store.loaded, ElementsAre("compute-2"));
}

TEST_F(ApiFleetTest, RedisAwayIs503InWords) {
  store.away = true;
  for (const std::string& path :
       {std::string("/v2/devices"), std::string("/v2/devices?hostname=compute-1"),
        "/v2/devices/" + unknown_, "/v2/devices/" + unknown_ + "/cleaning/steps",
        std::string("/v2/accelerator_requests"), "/v2/accelerator_requests/" + unknown_}) {
    const Response response = get(path);
    EXPECT_EQ(response.status, 503) << path;
    EXPECT_THAT(fault_of(response), HasSubstr("Redis cannot be asked")) << path;
    EXPECT_THAT(response.body, Not(HasSubstr("6379"))) << path;
  }
  store.away = false;
  EXPECT_EQ(get("/v2/devices").status, 200) << "an outage is not remembered";
}

TEST_F(ApiFleetTest, HalfAFleetIsNoAnswer) {
  store.broken_host = "compute-2";
  EXPECT_EQ(get("/v2/devices").status, 503);
  EXPECT_EQ(get("/v2/devices?hostname=compute-1").status, 200);
}

TEST_F(ApiFleetTest, WhatOneHostsLoginWroteCostsThatHostAlone) {
  drive("compute-1", "0000:01:00.0", Stage::available);
  const std::string ours = store.records["compute-1"].front().uuid;
  const std::string theirs = drive("compute-2", "0000:02:00.0", Stage::available).uuid;
  store.forged_host = "compute-2";
  const Response list = get("/v2/devices", "2.6");
  EXPECT_EQ(list.status, 200);
  EXPECT_THAT(list.body, HasSubstr(ours));
  EXPECT_THAT(list.body, HasSubstr(R"("damaged":[{"hostname":"compute-2","address":null,"reason":)"
                                   R"("reclaim:{compute-2}:devices: WRONGTYPE"}])"));
  EXPECT_THAT(get("/v2/devices?limit=1", "2.6").body, HasSubstr(R"("damaged":[)"));
  EXPECT_THAT(get("/v2/devices?limit=1", "2.6").body, Not(HasSubstr("devices_links")));
  // Lower versions never show later additions, and a reader no reasons.
  EXPECT_THAT(get("/v2/devices", "2.5").body, Not(HasSubstr("damaged")));
  EXPECT_EQ(get("/v2/devices/" + ours, "2.6").status, 200);
  EXPECT_EQ(post("/v2/devices/" + ours + "/disable", "2.6").status, 200);
  EXPECT_EQ(get("/v2/devices/" + theirs, "2.6").status, 404);
  EXPECT_EQ(get("/v2/accelerator_requests", "2.6").status, 200);
  EXPECT_THAT(get("/v2/certificates", "2.6").body, HasSubstr(R"("damaged":[)"));
  const Response one = get("/v2/devices?hostname=compute-2", "2.6");
  EXPECT_EQ(one.status, 503);
  EXPECT_THAT(fault_of(one), HasSubstr("reclaim:{compute-2}:devices"));
}

TEST_F(ApiFleetTest, TooManyHostsIs503AndSaysWhatToDo) {
  store.too_many_hosts = true;
  const Response response = get("/v2/devices");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(fault_of(response), HasSubstr("raise [redis] hosts_max"));
}

TEST_F(ApiFleetTest, ARecordThatCannotBeReadShowsAsError) {
  Record& broken = drive("compute-1", "0000:01:00.0", Stage::available);
  broken.damage = "its record cannot be read (stage)";
  EXPECT_THAT(get("/v2/devices").body, HasSubstr(R"("device_state":"error")"));
  EXPECT_THAT(get("/v2/devices?device_state=available").body, Not(HasSubstr("uuid")));
}

TEST_F(ApiFleetTest, WhatIsNoUtf8InRedisIsMadePrintable) {
  drive("compute-1", "0000:01:00.0", Stage::available).type = "NV\xff\x80ME";
  EXPECT_THAT(get("/v2/devices").body, HasSubstr(R"("type":"NV\\xff\\x80ME")"));
}

}  // namespace
}  // namespace reclaim::api
