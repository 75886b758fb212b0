// Orders with a body: which device is let go and why, and clean steps that are named.
#include <gmock/gmock.h>

#include "state/device/named_steps.h"
#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::HasSubstr;

class ApiWordsTest : public ApiTest {
 protected:
  ApiWordsTest() {
    seal = [](const std::string& host, Order& order) { order.mac = "of " + host; };
  }
  Response send(const Record& record, const std::string& word, const std::string& body,
                const std::string& token = "admin") {
    Request asked = request("POST", "/v2/devices/" + record.uuid + "/" + word, "2.7", token);
    asked.body = body;
    return ask(asked);
  }
  // Nothing was done, and the text says what is wrong.
  void expect_refused(const Response& response, int status, const std::string& words) {
    EXPECT_EQ(response.status, status);
    EXPECT_THAT(fault_of(response), HasSubstr(words));
    EXPECT_TRUE(store.orders.empty());
  }
};

class ApiDisownTest : public ApiWordsTest {
 protected:
  Record& dirty() { return drive("compute-1", "0000:01:00.0", Stage::pending_cleaning); }
  Response disown(const Record& record, const std::string& body = R"({"reason": "sold"})",
                  const std::string& token = "admin") {
    return send(record, "disown", body, token);
  }
};

TEST_F(ApiDisownTest, AcceptedIsASealedOrderWithItsReason) {
  const Response response = disown(dirty());
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(response.body, "");
  ASSERT_EQ(store.orders.size(), 1U);
  const auto& [host, order] = store.orders[0];
  EXPECT_EQ(host, "compute-1");
  EXPECT_EQ(order.order, "disown");
  EXPECT_EQ(order.reason, "sold");
  EXPECT_EQ(order.mac, "of compute-1");
  EXPECT_EQ(logger.lines.back().rfind("reclaim.api.audit: disown of device", 0), 0U);
  EXPECT_THAT(logger.lines.back(), HasSubstr("reason=sold"));
}

TEST_F(ApiDisownTest, AReasonIsNeeded) {
  const Record& record = dirty();
  for (const std::string body : {"", "{}", "[]", R"({"reason": ""})", R"({"reason": "  "})",
                                 R"({"reason": 1})", R"({"why": "sold"})", "{"}) {
    EXPECT_EQ(disown(record, body).status, 400) << body;
  }
  expect_refused(disown(record, R"({"reason": "sold", "force": true})"), 400, "'force'");
  expect_refused(disown(record, R"({"reason": "a", "reason": "b"})"), 400, "not a second time");
  expect_refused(disown(record, R"({"reason": ")" + std::string(201, 'x') + R"("})"), 400,
                 "1 to 200 bytes");
}

TEST_F(ApiDisownTest, RetireSaysWhatBecomesOfTheDriveToo) {
  const Record record = dirty();
  const Record taken = drive("compute-1", "0000:02:00.0", Stage::allocated);
  const Record busy = drive("compute-1", "0000:03:00.0", Stage::erasing);
  Record& held = drive("compute-1", "0000:04:00.0", Stage::available);
  held.held = true;
  const std::string body = R"({"as": "recycled", "reason": "old"})";
  EXPECT_EQ(send(record, "retire", body, "admin").status, 202);
  ASSERT_EQ(store.orders.size(), 1U);
  const Order& order = store.orders[0].second;
  EXPECT_EQ(order.order, "retire");
  EXPECT_EQ(order.purpose, "recycled");
  EXPECT_EQ(order.reason, "old");
  EXPECT_EQ(order.mac, "of compute-1");
  store.orders.clear();
  for (const std::string wrong :
       {R"({"reason": "old"})", R"({"as": "recycled"})", R"({"as": "gone", "reason": "old"})",
        R"({"as": "recycled", "reason": "old", "force": true})",
        R"({"as": "recycled", "as": "reused", "reason": "old"})"}) {
    expect_refused(send(record, "retire", wrong, "admin"), 400, "as");
  }
  expect_refused(send(record, "retire", body, "reader"), 403, "cyborg:device:retire");
  expect_refused(disown(record, body), 400, "'as'");
  for (const Record& each : {taken, busy}) {
    expect_refused(send(each, "retire", body, "admin"), 409, "a drive is retired while");
  }
  expect_refused(send(held, "retire", body, "admin"), 409, "un-reserve it first");
}

// An operator may have aborted its cleaning, or keeps it in maintenance, and a service's login
// stands on each compute host.
TEST_F(ApiDisownTest, AServiceUndoesNothing) {
  tokens.known["nova"] = tokens.known["admin"];
  tokens.known["nova"].roles.push_back("service");
  tokens.known["beside"] = tokens.known["admin"];
  tokens.known["beside"].service_roles = {"service"};
  const Record waiting = dirty();
  const Record failed = drive("compute-1", "0000:02:00.0", Stage::error);
  // Reserved, and it is not known by whom; one of the two is shown as held.
  const auto reserved = [&](const char* address, bool held) {
    Record& made = drive("compute-1", address, Stage::available);
    made.held = held;
    made.waiting_for = "it is not known who reserved it" + std::string(kCleanInDoubt);
    return made;
  };
  const Record held = reserved("0000:03:00.0", true);
  const Record in_doubt = reserved("0000:04:00.0", false);
  for (const auto& [order, rule] :
       {std::pair{"clean", "cyborg:device:clean_error"}, std::pair{"abort", "cyborg:device:abort"},
        std::pair{"enable", "cyborg:device:enable"},
        std::pair{"disable", "cyborg:device:disable"}}) {
    expect_refused(send(failed, order, "", "nova"), 403, rule);
  }
  expect_refused(send(failed, "clean", "", "beside"), 403, "X-Service-Token");
  for (const char* order : {"enable", "disable"}) {
    expect_refused(send(waiting, order, "", "beside"), 403, "X-Service-Token");
  }
  expect_refused(send(held, "clean", "", "nova"), 403, "cyborg:device:clean_error");
  expect_refused(send(held, "clean", "", "beside"), 403, "X-Service-Token");
  EXPECT_EQ(send(in_doubt, "clean", "", "nova").status, 202);
  EXPECT_EQ(store.orders.size(), 1U);
  EXPECT_EQ(send(waiting, "clean", "", "nova").status, 409)
      << "it is not one that waits for a word";
  EXPECT_EQ(send(failed, "clean", "", "admin").status, 202);
}

// Each compute host has a service's token, and sees its tenants' and operators'.
TEST_F(ApiDisownTest, BesideAServicesTokenNothingIsAccepted) {
  tokens.known["beside"] = tokens.known["admin"];
  tokens.known["beside"].service_roles = {"service"};
  const Record& record = dirty();
  expect_refused(disown(record, R"({"reason": "sold"})", "beside"), 403, "X-Service-Token");
  expect_refused(send(record, "retire", R"({"as": "recycled", "reason": "old"})", "beside"), 403,
                 "X-Service-Token");
  expect_refused(send(record, "enrol", R"({"serial": "S1"})", "beside"), 403, "X-Service-Token");
  EXPECT_TRUE(store.orders.empty());
}

TEST_F(ApiDisownTest, ForbiddenAndUnknown) {
  const Record& record = dirty();
  expect_refused(disown(record, R"({"reason": "sold"})", "reader"), 403, "cyborg:device:disown");
  Record stranger = record;
  stranger.uuid = "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e";
  expect_refused(disown(stranger), 404, stranger.uuid);
}

TEST_F(ApiDisownTest, ConflictWhileItIsCleanedOrAnEntryMatches) {
  expect_refused(disown(drive("compute-1", "0000:01:00.0", Stage::erasing)), 409, "is cleaning");
  store.records.clear();
  Record& listed = drive("compute-1", "0000:01:00.0", Stage::error);
  listed.steps_offered = {{"nvme", "check_health", 90, "{}"}};
  expect_refused(disown(listed), 409, "matched by a device_spec entry");
  store.records.clear();
  Record& damaged = drive("compute-1", "0000:01:00.0", Stage::error);
  damaged.damage = "field 'stage' is 'x'";
  expect_refused(disown(damaged), 409, "field 'stage'");
}

TEST_F(ApiDisownTest, BadRequestForWhatWasNeverOurs) {
  Record& card = drive("compute-1", "0000:01:00.0", Stage::available);
  card.type = "GPU";
  expect_refused(disown(card), 400, "not Reclaim's");
  clock.advance(301'000);
  store.records.clear();
  expect_refused(disown(dirty()), 400, "No worker");
}

TEST_F(ApiDisownTest, WithoutAKeyTheNodeSaysWhatToDo) {
  seal = nullptr;
  expect_refused(disown(dirty()), 503, "`reclaim device disown ADDRESS --reason TEXT` as root");
}

class ApiNamedStepsTest : public ApiWordsTest {
 protected:
  Record& offering(Stage stage) {
    Record& record = drive("compute-1", "0000:01:00.0", stage);
    record.steps_offered = {{"nvme", "check_health", 90, "{}"},
                            {"card", "reflash", 0, R"({"image":"[xy]","psid":["MT","DL"]})"}};
    return record;
  }
  Response clean(const Record& record, const std::string& steps,
                 const std::string& token = "admin") {
    return send(record, "clean", R"({"clean_steps": )" + steps + "}", token);
  }
};

constexpr const char* kReflash =
    R"([{"interface": "card", "step": "reflash", "args": {"image": "y"}},
        {"interface": "nvme", "step": "check_health"}])";

TEST_F(ApiNamedStepsTest, ADeviceInThePoolTakesThemInTheOrderGiven) {
  EXPECT_EQ(clean(offering(Stage::available), kReflash).status, 202);
  ASSERT_EQ(store.orders.size(), 1U);
  const Order& order = store.orders[0].second;
  EXPECT_EQ(order.order, "clean");
  EXPECT_EQ(order.mac, "of compute-1") << "it says what is run";
  const auto steps = decode_plan(order.steps);
  ASSERT_TRUE(steps.ok()) << steps.error().what;
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ(steps->at(0), (CleanStep{"card", "reflash", 0, R"({"image":"y"})", true}));
  EXPECT_EQ(steps->at(1), (CleanStep{"nvme", "check_health", 0, "{}", true}));
  EXPECT_THAT(logger.lines.back(), HasSubstr("steps=card.reflash,nvme.check_health"));
}

TEST_F(ApiNamedStepsTest, OneThatItsWorkerHasNotSeenYetSaysSo) {
  Record& record = offering(Stage::available);
  record.steps_offered.clear();
  expect_refused(clean(record, kReflash), 400, "its worker has not seen it since it was started");
}

TEST_F(ApiNamedStepsTest, SoDoesOneInErrorAndOneThatWaitsForAnOperator) {
  EXPECT_EQ(clean(offering(Stage::error), kReflash).status, 202);
  store.records.clear();
  Record& record = offering(Stage::pending_cleaning);
  record.clean_start = CleanStart::awaited;
  EXPECT_EQ(clean(record, kReflash).status, 202);
}

TEST_F(ApiNamedStepsTest, ConflictInEveryOtherState) {
  expect_refused(clean(offering(Stage::allocated), kReflash), 409, "is allocated");
  store.records.clear();
  expect_refused(clean(offering(Stage::erasing), kReflash), 409, "is cleaning");
  store.records.clear();
  expect_refused(clean(offering(Stage::pending_cleaning), kReflash), 409, "is pending_cleaning");
  store.records.clear();
  Record& held = offering(Stage::available);
  held.held = true;
  expect_refused(clean(held, kReflash), 409, "held by an operator");
  store.records.clear();
  expect_refused(send(offering(Stage::available), "clean", "{}"), 409, "it is clean already");
}

TEST_F(ApiNamedStepsTest, AnUnknownStepOrArgumentIsNamed) {
  const Record& record = offering(Stage::available);
  expect_refused(clean(record, R"([{"interface": "card", "step": "burn"}])"), 400,
                 "clean_steps[0]: 'card.burn' is not a step that can be named");
  expect_refused(clean(record, R"([{"interface": "nvme", "step": "check_health"},
                                   {"interface": "card", "step": "reflash",
                                    "args": {"force": 1}}])"),
                 400,
                 "clean_steps[1].args of card.reflash: an order may not set 'force'; it may set "
                 "image, psid");
  expect_refused(clean(record, R"([{"interface": "nvme", "step": "check_health",
                                    "args": {"fast": true}}])"),
                 400, "nvme.check_health: an order may not set 'fast'; it may set nothing");
  expect_refused(clean(record, R"([{"interface": "nvme", "step": "sanitize_block"}])"), 400,
                 "the plan erases and verifies by itself");
}

// The step's command runs as root.
TEST_F(ApiNamedStepsTest, AnArgumentIsWhatTheSectionAcceptsAndNothingElse) {
  const Record& record = offering(Stage::available);
  const auto with = [&](const std::string& args) {
    return clean(record, R"([{"interface": "card", "step": "reflash", "args": )" + args + "}]");
  };
  for (const char* image : {"\"/bin/sh\"", "\"xy\"", "\"x\\n\"", "\"\"", "[\"x\"]", "1", "null"}) {
    expect_refused(with(std::string(R"({"image": )") + image + "}"), 400, "'image'");
  }
  expect_refused(with(R"({"image": "x", "image": "/bin/sh"})"), 400, "'image' may not be");
  expect_refused(with(R"({"psid": "XX"})"), 400, "'psid' may not be 'XX'; accepted is MT, DL");
  EXPECT_EQ(with(R"({"image": "x", "psid": "DL"})").status, 202);
}

TEST_F(ApiNamedStepsTest, WhoMayHaveItCleanedMayNotForThatNameSteps) {
  start({{"cyborg:device:clean", "role:reader"}}, {});
  const Record& record = offering(Stage::error);
  expect_refused(clean(record, kReflash, "reader"), 403, "cyborg:device:clean_steps");
  expect_refused(send(record, "clean", "nonsense", "reader"), 403, "cyborg:device:clean_steps");
  EXPECT_EQ(send(record, "clean", "{}", "reader").status, 202);
}

TEST_F(ApiNamedStepsTest, WhatIsNoListOfStepsIsNamedToo) {
  const Record& record = offering(Stage::available);
  expect_refused(clean(record, "[]"), 400, "at least one");
  expect_refused(clean(record, R"({"interface": "card"})"), 400, "not a list");
  expect_refused(clean(record, R"([{"interface": "card"}])"), 400,
                 "clean_steps[0].step is missing");
  expect_refused(clean(record, R"([{"step": "reflash"}])"), 400, "interface is missing");
  expect_refused(clean(record, R"([{"interface": "card", "step": "reflash", "priority": 9}])"), 400,
                 "member 'priority'");
  expect_refused(clean(record, R"([{"interface": "card", "step": "reflash", "args": []}])"), 400,
                 "clean_steps[0].args is not an object");
  expect_refused(send(record, "clean", R"({"steps": []})"), 400, "member 'steps'");
  std::string many = "[";
  for (std::size_t i = 0; i <= kNamedStepsMax; ++i) {
    many += std::string(i == 0 ? "" : ",") + R"({"interface": "card", "step": "reflash"})";
  }
  expect_refused(clean(record, many + "]"), 400, "17 steps, 16 are allowed");
  expect_refused(clean(record, R"([{"interface": "card", "step": "reflash", "args": {"image": ")" +
                                   std::string(5'000, 'x') + R"("}}])"),
                 400, "4096 are allowed");
  expect_refused(send(record, "clean", "{" + std::string(40'000, ' ') + R"("a": 1})"), 400,
                 "32768");
}

TEST_F(ApiNamedStepsTest, ThePlanShowsWhichStepsAreByHand) {
  Record& record = offering(Stage::preparing);
  record.plan = {{"card", "reflash", 0, "{}", true}, {"nvme", "check_health", 90, "{}"}};
  const std::string body = get("/v2/devices/" + record.uuid + "/cleaning/steps").body;
  EXPECT_THAT(body, HasSubstr(R"("step":"reflash","priority":0,"args":{},"by_hand":true},)"));
  EXPECT_THAT(body, HasSubstr(R"("step":"check_health","priority":90,"args":{}})"));
}

}  // namespace
}  // namespace reclaim::api
