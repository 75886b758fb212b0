// What is ordered through the API beside a cleaning and an approval: abort, enrol, and Cyborg's
// enable and disable. Rule by rule and code by code.
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ApiOrdersTest : public ApiTest {
 protected:
  ApiOrdersTest() {
    seal = [](const std::string& host, Order& order) { order.mac = "of " + host; };
  }

  Record& in(Stage stage) {
    store.records.clear();
    Record& record = drive("compute-1", "0000:01:00.0", stage);
    record.found = {"S1", "M1", "dsn=00-01"};
    return record;
  }
  // Asks for it, and holds that nothing was ordered unless it was accepted.
  Response order(const Record& record, const std::string& name, const std::string& token = "admin",
                 const std::string& body = "", const std::string& version = "2.6") {
    store.orders.clear();
    Request asked = request("POST", "/v2/devices/" + record.uuid + "/" + name, version, token);
    asked.body = body;
    const Response response = ask(asked);
    EXPECT_EQ(store.orders.size(), response.status < 300 ? 1U : 0U) << name;
    return response;
  }
  [[nodiscard]] const Order& ordered() const { return store.orders.at(0).second; }
};

struct Kind {
  const char* name;
  const char* order;
  int accepted;
  const char* since;
  const char* before;
};
constexpr Kind kKinds[] = {
    {"abort", "abort", 202, "2.6", "2.5"},
    {"enrol", "enrol", 202, "2.6", "2.5"},
    {"enable", "maintenance_off", 200, "2.3", "2.2"},
    {"disable", "maintenance_on", 200, "2.3", "2.2"},
};

TEST_F(ApiOrdersTest, EachIsAnOrderForTheDevicesHostAndHasNoBody) {
  for (const Kind& kind : kKinds) {
    const Record& record = in(Stage::pending_cleaning);
    const Response response = order(record, kind.name);
    ASSERT_EQ(response.status, kind.accepted) << kind.name << fault_of(response);
    EXPECT_EQ(response.body, "") << kind.name;
    EXPECT_EQ(store.orders.at(0).first, "compute-1") << kind.name;
    EXPECT_EQ(ordered().order, kind.order);
    EXPECT_EQ(ordered().address, "0000:01:00.0");
    EXPECT_EQ(ordered().request_id, "req-3b5b4a5e-6d6f-4a0c-8c59-0d8d1f0f2f5a");
    EXPECT_EQ(ordered().issued_at, clock.now().wall);
    EXPECT_THAT(ordered().who, ::testing::MatchesRegex("keystone user .+ of domain .+"));
    EXPECT_EQ(ordered().mac, "of compute-1") << kind.name;
  }
}

// A host's login may have written another device's UUID into a record of its own.
TEST_F(ApiOrdersTest, EachGoesToTheHostOfTheDeviceWhateverAnotherRecordSays) {
  const std::string uuid = in(Stage::pending_cleaning).uuid;
  for (const char* address : {"0000:01:00.0", "0000:02:00.0"}) {
    drive("compute-2", address, Stage::pending_cleaning).uuid = uuid;
  }
  Record victim;
  victim.uuid = uuid;
  for (int i = 0; i < 3; ++i) {
    store.orders.clear();
    ASSERT_EQ(order(victim, "abort").status, 202);
    ASSERT_EQ(store.orders.size(), 1U);
    EXPECT_EQ(store.orders[0].first, "compute-1");
    clock.advance(2'000);
  }
}

TEST_F(ApiOrdersTest, EachHasItsMicroversion) {
  const Record& record = in(Stage::pending_cleaning);
  for (const Kind& kind : kKinds) {
    const Response early = order(record, kind.name, "admin", "", kind.before);
    EXPECT_EQ(early.status, 406) << kind.name;
    EXPECT_THAT(fault_of(early), HasSubstr(std::string("should be ") + kind.since));
    EXPECT_EQ(order(record, kind.name, "admin", "", kind.since).status, kind.accepted) << kind.name;
  }
}

TEST_F(ApiOrdersTest, EachHasItsRuleAndIsForAdmins) {
  const Record& record = in(Stage::pending_cleaning);
  for (const Kind& kind : kKinds) {
    const std::string rule = std::string("cyborg:device:") + kind.name;
    for (const std::string who : {"manager", "reader", "stranger"}) {
      const Response response = order(record, kind.name, who);
      EXPECT_EQ(response.status, 403) << kind.name << who;
      EXPECT_THAT(fault_of(response), HasSubstr(rule)) << who;
    }
    start({{rule, "role:reader"}}, {});
    EXPECT_EQ(order(record, kind.name, "reader").status, kind.accepted) << kind.name;
    for (const Kind& other : kKinds) {
      if (std::string(other.name) == kind.name) continue;
      EXPECT_EQ(order(record, other.name, "reader").status, 403) << kind.name << other.name;
    }
    start({}, {});
  }
}

TEST_F(ApiOrdersTest, EachIs404WithoutTheDeviceAnd400WithoutItsWorker) {
  Record none;
  none.uuid = "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e";
  for (const Kind& kind : kKinds) EXPECT_EQ(order(none, kind.name).status, 404) << kind.name;
  const Record& record = in(Stage::pending_cleaning);
  clock.advance(301'000);
  for (const Kind& kind : kKinds) {
    const Response response = order(record, kind.name);
    EXPECT_EQ(response.status, 400) << kind.name;
    EXPECT_THAT(fault_of(response), HasSubstr("No worker on host compute-1")) << kind.name;
  }
}

TEST_F(ApiOrdersTest, EachTakesNoArgumentsButAnEnrolmentItsSerial) {
  const Record& record = in(Stage::pending_cleaning);
  for (const Kind& kind : kKinds) {
    const Response response = order(record, kind.name, "admin", R"({"force": true})");
    EXPECT_EQ(response.status, 400) << kind.name;
    EXPECT_THAT(fault_of(response), HasSubstr(kind.name));
    EXPECT_EQ(order(record, kind.name, "admin", " {} ").status, kind.accepted) << kind.name;
    EXPECT_EQ(post("/v2/devices/" + record.uuid + "/" + kind.name + "?force=1", "2.6").status, 400);
  }
}

TEST_F(ApiOrdersTest, EachIsRefusedWhereTheRecordCannotBeRead) {
  Record& record = in(Stage::error);
  record.damage = "its record cannot be read (stage): mend the field";
  for (const Kind& kind : kKinds) {
    const Response response = order(record, kind.name);
    EXPECT_EQ(response.status, 409) << kind.name;
    EXPECT_THAT(fault_of(response), HasSubstr("mend the field")) << kind.name;
  }
}

TEST_F(ApiOrdersTest, RedisAwayIs503AndEveryAttemptIsAudited) {
  const Record& record = in(Stage::pending_cleaning);
  static_cast<void>(get("/v2/devices"));
  for (const Kind& kind : kKinds) {
    logger.lines.clear();
    static_cast<void>(order(record, kind.name));
    static_cast<void>(order(record, kind.name, "reader"));
    store.away = true;
    EXPECT_EQ(order(record, kind.name).status, 503) << kind.name;
    store.away = false;
    std::vector<std::string> audited;
    for (const std::string& line : logger.lines) {
      if (line.starts_with("reclaim.api.audit: ")) audited.push_back(line);
    }
    ASSERT_EQ(audited.size(), 3U) << kind.name;
    for (const std::string& line : audited) {
      EXPECT_THAT(line, HasSubstr(std::string(kind.name) + " of device " + record.uuid));
    }
    EXPECT_THAT(audited[0], HasSubstr("outcome=accepted"));
    EXPECT_THAT(audited[1], HasSubstr("outcome=refused with 403"));
    EXPECT_THAT(audited[2], HasSubstr("outcome=refused with 503"));
  }
}

TEST_F(ApiOrdersTest, OnlyACleaningIsAborted) {
  for (const Stage stage : {Stage::pending_cleaning, Stage::guarding, Stage::preparing,
                            Stage::erasing, Stage::verifying, Stage::releasing}) {
    EXPECT_EQ(order(in(stage), "abort").status, 202) << to_string(stage);
  }
  for (const Stage stage : {Stage::available, Stage::allocated, Stage::error}) {
    const Response response = order(in(stage), "abort");
    EXPECT_EQ(response.status, 409) << to_string(stage);
    EXPECT_THAT(fault_of(response), HasSubstr("no cleaning to abort"));
  }
}

TEST_F(ApiOrdersTest, AnEnrolmentNamesTheDriveThatTheWorkerSawOrTheOneThatIsGiven) {
  Record& record = in(Stage::error);
  ASSERT_EQ(order(record, "enrol").status, 202);
  EXPECT_EQ(ordered().serial, "S1");
  EXPECT_EQ(ordered().hardware, "dsn=00-01");
  ASSERT_EQ(order(record, "enrol", "admin", R"({"serial": "S2"})").status, 202);
  EXPECT_EQ(ordered().serial, "S2");
  EXPECT_EQ(ordered().hardware, "") << "of another drive";
  EXPECT_THAT(logger.lines.back(), HasSubstr("accepts=S2"));
  record.found = {};
  const Response nothing = order(record, "enrol");
  EXPECT_EQ(nothing.status, 400);
  EXPECT_THAT(fault_of(nothing), HasSubstr(R"({"serial": "..."})"));
}

TEST_F(ApiOrdersTest, AnEnrolmentsSerialIsAPrintableText) {
  const Record& record = in(Stage::error);
  for (const std::string& body :
       {std::string("[]"), std::string(R"("S1")"), std::string("{"), std::string(R"({"serial":1})"),
        std::string(R"({"serial":""})"), std::string(R"({"serial":null})"),
        R"({"serial":")" + std::string(21, 'x') + R"("})", std::string(R"({"serial":"a\nb"})"),
        std::string(R"({"serial":"S\u00e91"})"), std::string(R"({"serial":"a","serial":"b"})"),
        std::string(R"({"serial":"a","x":1})")}) {
    const Response response = order(record, "enrol", "admin", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_THAT(fault_of(response), HasSubstr("enrol: ")) << body;
  }
}

// Who may write to Redis has a text of his signed with the node's key, in the operator's name.
TEST_F(ApiOrdersTest, AnEnrolmentTakesNoOtherTextForTheSerialThatTheWorkerSaw) {
  Record& record = in(Stage::error);
  for (const char* text : {"S1; and bob@ops let the data stay on it", "S1\n", "S\xc3\xa9"}) {
    record.found = {text, "M1", ""};
    const Response response = order(record, "enrol");
    EXPECT_EQ(response.status, 400) << text;
    EXPECT_THAT(fault_of(response), AllOf(HasSubstr("give the serial"), Not(HasSubstr("bob"))));
    EXPECT_THAT(store.orders, IsEmpty()) << text;
    ASSERT_EQ(order(record, "enrol", "admin", R"({"serial": "S2"})").status, 202);
    EXPECT_EQ(ordered().serial, "S2");
    store.orders.clear();
  }
}

TEST_F(ApiOrdersTest, AnEnrolmentIsRefusedWhereTheDeviceIsInUseHeldOrNotCleaned) {
  for (const Stage stage : {Stage::available, Stage::pending_cleaning, Stage::error}) {
    EXPECT_EQ(order(in(stage), "enrol").status, 202) << to_string(stage);
  }
  for (const Stage stage : {Stage::allocated, Stage::guarding, Stage::erasing}) {
    const Response response = order(in(stage), "enrol");
    EXPECT_EQ(response.status, 409) << to_string(stage);
    EXPECT_THAT(fault_of(response), HasSubstr("a drive is enrolled while"));
  }
  Record& held = in(Stage::available);
  held.held = true;
  EXPECT_EQ(order(held, "enrol").status, 409);
  Record& card = in(Stage::available);
  card.type = "GPU";
  EXPECT_EQ(order(card, "enrol").status, 400);
  card.by_steps = true;
  EXPECT_EQ(order(card, "enrol").status, 202);
  EXPECT_EQ(order(card, "enrol", "admin", R"({"serial": "S1"})").status, 400);
}

TEST_F(ApiOrdersTest, AnEnrolmentWithoutTheNodesKeySaysWhatToDo) {
  seal = nullptr;
  const Response response = order(in(Stage::error), "enrol");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(fault_of(response), HasSubstr("[security] order_key_file"));
  EXPECT_THAT(fault_of(response), HasSubstr("set ADDRESS --enrol"));
  EXPECT_EQ(order(in(Stage::error), "disable").status, 200) << "needs none";
}

TEST_F(ApiOrdersTest, MaintenanceIsOrderedInEveryStateAndTwice) {
  for (const Stage stage : {Stage::available, Stage::allocated, Stage::pending_cleaning,
                            Stage::erasing, Stage::error}) {
    for (const bool maintenance : {false, true}) {
      Record& record = in(stage);
      record.maintenance = maintenance;
      EXPECT_EQ(order(record, "enable").status, 200) << to_string(stage);
      EXPECT_EQ(order(record, "disable").status, 200) << to_string(stage);
    }
  }
  Record& card = in(Stage::available);
  card.type = "GPU";
  EXPECT_EQ(order(card, "disable").status, 200) << "whatever its type";
}

TEST_F(ApiOrdersTest, WhatCyborgSwitchedOffIsNotSwitchedOnHere) {
  Record& record = in(Stage::available);
  record.cyborg_status = "maintaining";
  const Response response = order(record, "enable");
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(fault_of(response), HasSubstr("Cyborg's own status"));
  record.maintenance = true;
  EXPECT_EQ(order(record, "enable").status, 200) << "ours ends";
}

}  // namespace
}  // namespace reclaim::api
