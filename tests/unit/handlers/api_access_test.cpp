// Who is let in, and what the answer is when one is not: 400, 401, 403, 404, 405, 503.
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class ApiAccessTest : public ApiTest {};

TEST_F(ApiAccessTest, WithoutATokenIs401AndSaysWhereKeystoneIs) {
  const Response response = ask(request("GET", "/v2/devices", "2.5", ""));
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(header(response, "WWW-Authenticate"), "Keystone uri=\"http://controller:5000\"");
  EXPECT_THAT(fault_of(response), HasSubstr("Unauthorized"));
  EXPECT_EQ(store.hosts_asked, 0);
}

TEST_F(ApiAccessTest, AWrongTokenIs401AndNeverInALogLine) {
  const Response response = get("/v2/devices", "2.5", "gAAAAA-wrong");
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(header(response, "WWW-Authenticate"), "Keystone uri=\"http://controller:5000\"");
  EXPECT_THAT(response.body, Not(HasSubstr("gAAAAA")));
  for (const std::string& line : logger.lines) EXPECT_THAT(line, Not(HasSubstr("gAAAAA")));
}

TEST_F(ApiAccessTest, NothingIsSaidOfWhatThereIsBeforeATokenIsGood) {
  EXPECT_EQ(ask(request("GET", "/v2/nowhere", "2.5", "")).status, 401);
  EXPECT_EQ(ask(request("DELETE", "/v2/devices", "2.99", "")).status, 401);
}

TEST_F(ApiAccessTest, KeystoneAwayIs503) {
  for (const Errc code : {Errc::unavailable, Errc::unknown}) {
    tokens.trouble = Error{code, "controller:5000 does not answer"};
    const Response response = get("/v2/devices");
    EXPECT_EQ(response.status, 503);
    EXPECT_THAT(fault_of(response), HasSubstr("Keystone"));
  }
  EXPECT_THAT(logger.lines, Contains(HasSubstr("controller:5000 does not answer")));
}

TEST_F(ApiAccessTest, AServiceTokenGoesToKeystoneToo) {
  Request asked = request("GET", "/v2/devices");
  asked.headers.push_back({"x-service-token", "service"});
  EXPECT_EQ(ask(asked).status, 200);
  EXPECT_EQ(tokens.last_service_token, "service");
}

TEST_F(ApiAccessTest, TwoTokensAreNone) {
  for (const std::string name : {"X-Auth-Token", "X-Service-Token"}) {
    Request asked = request("GET", "/v2/devices");
    asked.headers.push_back({"X-Service-Token", "service"});
    asked.headers.push_back({name, "admin"});
    static_cast<void>(ask(asked));
    EXPECT_THAT(tokens.last_token + " " + tokens.last_service_token, HasSubstr(","));
  }
}

TEST_F(ApiAccessTest, TheAccessLogIsToldWhoItWas) {
  const Response response = get("/v2/devices");
  EXPECT_EQ(response.user_id, "user-admin");
  EXPECT_EQ(response.project_id, kOurProject);
}

TEST_F(ApiAccessTest, DevicesAreForManagersAndAdmins) {
  EXPECT_EQ(get("/v2/devices", "2.5", "manager").status, 200);
  const Response refused = get("/v2/devices", "2.5", "reader");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(fault_of(refused), HasSubstr("cyborg:device:get_all"));
  EXPECT_THAT(fault_of(get("/v2/devices/x", "2.5", "reader")), HasSubstr("cyborg:device:get_one"));
  EXPECT_EQ(store.hosts_asked, 1);
}

TEST_F(ApiAccessTest, APolicyFileDecides) {
  start({{"cyborg:device:get_all", "role:reader"}, {"cyborg:device:clean", "!"}}, {});
  EXPECT_EQ(get("/v2/devices", "2.5", "reader").status, 200);
  EXPECT_EQ(post("/v2/devices/x/clean").status, 403);
}

TEST_F(ApiAccessTest, WithAuthOffEveryCallerIsTheAdmin) {
  Options options;
  options.authenticate = false;
  start({}, options);
  drive("compute-1", "0000:01:00.0", Stage::error);
  const auto by_name = [&](Request asked) {
    asked.base_url = "http://localhost:6667";
    return ask(asked).status;
  };
  EXPECT_EQ(by_name(request("GET", "/v2/devices", "", "")), 200);
  EXPECT_EQ(by_name(request("POST", "/v2/devices/" + store.records["compute-1"][0].uuid + "/clean",
                            "2.5", "")),
            202);
}

// Nobody is a person there: a second caller may be the first.
TEST_F(ApiAccessTest, WithAuthOffNobodyApprovesAHoldAndNoOrderNamesAUser) {
  Options options;
  options.authenticate = false;
  start({}, options);
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  Record& record = drive("compute-1", "0000:01:00.0", Stage::preparing);
  record.clean_step = "hold.eyes";
  const auto order = [&](const std::string& what) {
    Request asked = request("POST", "/v2/devices/" + record.uuid + what, "2.7", "");
    asked.base_url = "http://localhost:6667";
    return ask(asked);
  };
  const Response refused = order("/unhold");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("reclaim device unhold"));
  EXPECT_TRUE(store.orders.empty());
  EXPECT_EQ(order("/abort").status, 202);
  ASSERT_EQ(store.orders.size(), 1U);
  EXPECT_EQ(store.orders[0].second.who, "anybody, by an API with auth = none");
}

TEST_F(ApiAccessTest, WithAuthOffOnlyNamesOfThisHostAreAnswered) {
  Options options;
  options.authenticate = false;
  start({}, options);
  const auto ask_by = [&](const std::string& url, const std::string& path) {
    Request asked = request("GET", path, "2.5", "");
    asked.base_url = url;
    return ask(asked);
  };
  for (const std::string url :
       {"http://localhost", "http://LOCALHOST:6667", "http://127.0.0.1:6667", "http://127.9.9.9",
        "http://[::1]:6667", "https://[::1]"}) {
    EXPECT_EQ(ask_by(url, "/v2/devices").status, 200) << url;
  }
  for (const std::string url :
       {"http://evil.example:6667", "http://127.0.0.1.evil.example",
        "http://localhost.evil.example", "http://192.0.2.7:6667", "http://[2001:db8::1]:6667",
        "http://127.1", "http://127.0.0.", "http://127..0.1", "http://2130706433",
        "http://0.0.0.0:6667", "http://"}) {
    for (const std::string path : {"/v2/devices", "/", "/v2", "/v2/nowhere"}) {
      const Response refused = ask_by(url, path);
      EXPECT_EQ(refused.status, 403) << url << path;
      EXPECT_THAT(fault_of(refused), HasSubstr("127.0.0.1 or [::1]")) << url << path;
    }
  }
  // With tokens the name means nothing: proxies have others.
  start({}, {});
  EXPECT_EQ(get("/v2/devices").status, 200);
}

TEST_F(ApiAccessTest, WhatACleaningFoundIsForAdmins) {
  drive("compute-1", "0000:01:00.0", Stage::error);
  const std::string path = "/v2/devices/" + store.records["compute-1"][0].uuid;
  EXPECT_EQ(get(path, "2.5", "manager").status, 200);
  EXPECT_EQ(get(path + "/cleaning", "2.7", "manager").status, 403);
  const Response refused = get(path + "/cleaning/steps", "2.5", "manager");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(fault_of(refused), HasSubstr("cyborg:device:cleaning_steps"));
  EXPECT_EQ(get(path + "/cleaning/steps").status, 200);
  start({{"cyborg:device:cleaning_steps", "rule:project_manager_or_admin"}}, {});
  EXPECT_EQ(get(path + "/cleaning/steps", "2.5", "manager").status, 200);
}

TEST_F(ApiAccessTest, ATokenOfADomainOrOfTheSystemHasNoSay) {
  drive("compute-1", "0000:01:00.0", Stage::error);
  placement::Identity of_domain = person("of-domain", {"admin"}, "");
  of_domain.domain_id = "d1";
  tokens.known["of-domain"] = of_domain;
  placement::Identity of_system = person("of-system", {"admin"}, "");
  of_system.system_scope = "all";
  tokens.known["of-system"] = of_system;
  const std::string device = "/v2/devices/" + store.records["compute-1"][0].uuid;
  for (const auto& rules : {std::map<std::string, std::string>{},
                            {{"cyborg:device:get_all", "@"}, {"cyborg:device:clean", "@"}}}) {
    start(rules, {});
    for (const std::string token : {"of-domain", "of-system"}) {
      for (const std::string path : {"/v2/devices", "/v2/accelerator_requests"}) {
        const Response refused = get(path, "2.5", token);
        EXPECT_EQ(refused.status, 403) << token << path;
        EXPECT_THAT(fault_of(refused), HasSubstr("tokens of a project")) << token << path;
      }
      EXPECT_EQ(get(device, "2.5", token).status, 403) << token;
      EXPECT_EQ(get(device + "/cleaning/steps", "2.5", token).status, 403) << token;
      EXPECT_EQ(post(device + "/clean", "2.5", token).status, 403) << token;
    }
  }
  EXPECT_EQ(store.hosts_asked, 0);
}

TEST_F(ApiAccessTest, WhatIsNotThereIs404) {
  for (const std::string path : {"/v3", "/v2/deployables", "/v2/devices/a/b", "/v2//devices"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

TEST_F(ApiAccessTest, WhatCannotBeDoneIs405WithAllow) {
  const std::vector<std::tuple<std::string, std::string, std::string>> table{
      {"DELETE", "/v2/devices", "GET, HEAD"},
      {"POST", "/v2/devices/x", "GET, HEAD"},
      {"PATCH", "/v2/accelerator_requests", "GET, HEAD"},
      {"DELETE", "/v2/accelerator_requests/x", "GET, HEAD"},
      {"GET", "/v2/devices/x/clean", "POST"},
      {"GET", "/v2/devices/x/enrol", "POST"},
      {"PUT", "/v2/devices/x/disable", "POST"},
      {"POST", "/v2/certificates", "GET, HEAD"},
      {"DELETE", "/v2/certificates/x", "GET, HEAD"},
      {"POST", "/v2/devices/x/cleaning/steps", "GET, HEAD"},
      {"POST", "/", "GET, HEAD"},
      {"PUT", "/v2", "GET, HEAD"},
  };
  for (const auto& [method, path, allow] : table) {
    const Response response = ask(request(method, path));
    EXPECT_EQ(response.status, 405) << method << " " << path;
    EXPECT_EQ(header(response, "Allow"), allow) << method << " " << path;
  }
}

TEST_F(ApiAccessTest, ABadTargetIs400) {
  EXPECT_EQ(get("/v2/devices?type=%zz").status, 400);
  EXPECT_EQ(get("/v2/%").status, 400);
}

TEST_F(ApiAccessTest, AnUnknownParameterIs400AndNamesWhatIsAccepted) {
  const Response old = get("/v2/devices?colour=red", "2.3");
  EXPECT_EQ(old.status, 400);
  EXPECT_THAT(fault_of(old), HasSubstr("'colour'"));
  EXPECT_THAT(fault_of(old), HasSubstr("type, vendor, hostname"));
  EXPECT_THAT(fault_of(get("/v2/devices?colour=red")),
              HasSubstr("type, vendor, hostname, status, device_state"));
  EXPECT_EQ(get("/v2/devices?device_state=error", "2.4").status, 400);
  EXPECT_EQ(get("/v2/devices?type=NVME&type=GPU").status, 400);
  EXPECT_EQ(get("/v2/devices?device_state=dirty").status, 400);
  EXPECT_THAT(fault_of(get("/v2/devices?device_state=dirty")), HasSubstr("pending_cleaning"));
  EXPECT_EQ(get("/v2/devices?status=off").status, 400);
  EXPECT_EQ(get("/v2/devices/x?type=NVME").status, 400);
  EXPECT_THAT(fault_of(get("/v2/accelerator_requests?arq=1")), HasSubstr("instance, bind_state"));
}

TEST_F(ApiAccessTest, NoAnswerComesAfterTheApiIsGone) {
  int answers = 0;
  for (const std::string path :
       {"/v2/devices", "/v2/devices?hostname=compute-1",
        "/v2/devices/7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e", "/v2/accelerator_requests",
        "/v2/certificates", "/v2/devices?limit=1"}) {
    api->handle(request("GET", path, "2.6"), [&](const Response& /*response*/) { answers += 1; });
  }
  // One that waits for Keystone, one for the hosts, one for a host's records.
  for (int steps = 0; steps < 6; ++steps) run_one();
  ASSERT_EQ(answers, 0);
  api.reset();
  run();
  EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace reclaim::api
