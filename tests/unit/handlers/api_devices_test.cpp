// The Cyborg specification's device calls ("REST API impact"), rule by rule.
#include <gmock/gmock.h>

#include "state/device/hold.h"
#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ApiDevicesTest : public ApiTest {
 protected:
  // The two devices of the specification's examples, and one that is not a drive.
  void examples() {
    available = drive("compute-1", "0000:01:00.0", Stage::available).uuid;
    Record& broken = drive("compute-2", "0000:02:00.0", Stage::error, "144d", "a808");
    broken.created_at = *from_iso8601("2026-05-15T14:00:00Z");
    broken.updated_at = *from_iso8601("2026-05-15T16:30:15Z");
    broken.last_error = "sanitize failed: status 0x1D";
    broken.tags = {"db", "tier=1"};
    error = broken.uuid;
    Record& card = drive("compute-2", "0000:25:00.4", Stage::allocated, "10de", "25b6");
    card.type = "GPU";
    card.cyborg_status = "maintaining";
    gpu = card.uuid;
  }

  static std::vector<std::string> uuids(const Response& response) {
    std::vector<std::string> found;
    const auto parsed = json::parse(response.body, 1U << 20U);
    if (!parsed) return {"no JSON"};
    for (const auto& device : (*parsed)["devices"].GetArray()) {
      found.emplace_back(device["uuid"].GetString());
    }
    return found;
  }

  std::string available, error, gpu;
};

TEST_F(ApiDevicesTest, OlderMicroversionsAreByteForByteWithoutTheNewFields) {
  examples();
  for (const std::string version : {"2.0", "2.3", "2.4", "2.5", "2.6"}) {
    const Response list = get("/v2/devices", version);
    EXPECT_EQ(list.status, 200);
    expect_golden("devices-" + version + ".json", list.body);
    const Response one = get("/v2/devices/" + error, version);
    EXPECT_EQ(one.status, 200);
    expect_golden("device-" + version + ".json", one.body);
    EXPECT_EQ(version >= "2.3", one.body.find("\"status\"") != std::string::npos) << version;
    EXPECT_EQ(version >= "2.5", one.body.find("device_state") != std::string::npos) << version;
    EXPECT_EQ(version >= "2.6", one.body.find("last_error") != std::string::npos) << version;
  }
}

TEST_F(ApiDevicesTest, CyborgsFiltersAndOursSelect) {
  examples();
  EXPECT_THAT(uuids(get("/v2/devices?type=NVME", "2.0")),
              ::testing::UnorderedElementsAre(available, error));
  EXPECT_THAT(uuids(get("/v2/devices?vendor=144d", "2.0")), ::testing::ElementsAre(error));
  EXPECT_THAT(uuids(get("/v2/devices?hostname=compute-2", "2.0")),
              ::testing::UnorderedElementsAre(error, gpu));
  EXPECT_THAT(uuids(get("/v2/devices?hostname=compute-2&type=GPU", "2.0")),
              ::testing::ElementsAre(gpu));
  EXPECT_THAT(uuids(get("/v2/devices?device_state=error")), ::testing::ElementsAre(error));
  EXPECT_THAT(uuids(get("/v2/devices?status=maintaining")), ::testing::ElementsAre(gpu));
  EXPECT_THAT(uuids(get("/v2/devices?type=FPGA")), ::testing::IsEmpty());
  EXPECT_THAT(uuids(get("/v2/devices?type=")), ::testing::SizeIs(3));
}

TEST_F(ApiDevicesTest, MaintenanceShowsAsMaintaining) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::available);
  record.maintenance = true;
  EXPECT_THAT(get("/v2/devices/" + record.uuid).body, HasSubstr(R"("status":"maintaining")"));
}

TEST_F(ApiDevicesTest, ADeviceShowsItsCleaningFrom26On) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::erasing);
  record.clean_step = "nvme.sanitize_crypto";
  record.progress_percent = 42.5;
  record.held = true;
  record.waiting_for = "the host driver";
  const std::string body = get("/v2/devices/" + record.uuid, "2.6").body;
  EXPECT_THAT(body, HasSubstr(R"("held":true,"clean_step":{"interface":"nvme",)"
                              R"("step":"sanitize_crypto"},"progress":42.5,"tags":[],)"
                              R"("waiting_for":"the host driver","last_error":null,)"));
  EXPECT_THAT(get("/v2/devices", "2.6").body, HasSubstr(body));
  EXPECT_THAT(get("/v2/devices/" + record.uuid, "2.7").body,
              HasSubstr(R"("tags":[],"percentage_used":null,"available_spare":null,)"
                        R"("waiting_for":"the host driver")"));
}

TEST_F(ApiDevicesTest, WhyItWaitsOrFailedIsOnlyForThoseWhoMaySeeTheCleaning) {
  examples();
  const std::string path = "/v2/devices/" + error;
  EXPECT_THAT(get(path, "2.6").body, HasSubstr("sanitize failed"));
  for (const std::string& seen :
       {get(path, "2.6", "manager").body, get("/v2/devices", "2.6", "manager").body,
        get("/v2/devices?limit=9", "2.6", "manager").body}) {
    EXPECT_THAT(seen, ::testing::Not(HasSubstr("sanitize failed")));
    EXPECT_THAT(seen, ::testing::Not(HasSubstr("last_error")));
    EXPECT_THAT(seen, ::testing::Not(HasSubstr("waiting_for")));
    EXPECT_THAT(seen, HasSubstr(R"("tags":["db","tier=1"])"));
  }
}

TEST_F(ApiDevicesTest, OneWhoseRecordCannotBeReadSaysWhy) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::available);
  record.damage = "its record cannot be read: stage";
  EXPECT_THAT(get("/v2/devices/" + record.uuid, "2.6").body,
              HasSubstr(R"("last_error":"its record cannot be read: stage")"));
}

TEST_F(ApiDevicesTest, StatusIsIndependentOfTheState) {
  for (const Stage stage : {Stage::available, Stage::allocated, Stage::pending_cleaning,
                            Stage::erasing, Stage::error}) {
    for (const bool maintenance : {false, true}) {
      store.records.clear();
      Record& record = drive("compute-1", "0000:01:00.0", stage);
      record.maintenance = maintenance;
      const std::string state(to_string(device_state(stage)));
      const std::string status = maintenance ? "maintaining" : "enabled";
      clock.advance(2'000);
      EXPECT_THAT(get("/v2/devices/" + record.uuid).body,
                  HasSubstr(R"("status":")" + status + R"(","device_state":")" + state + '"'));
      EXPECT_THAT(uuids(get("/v2/devices?status=" + status + "&device_state=" + state)),
                  ::testing::ElementsAre(record.uuid));
    }
  }
}

TEST_F(ApiDevicesTest, CyborgsUuidFindsTheDeviceToo) {
  const std::string cyborgs = "7d3f2b1a-0f7e-4c8e-9a55-2f1d5c0d9f22";
  examples();
  for (Record& record : store.records["compute-2"]) {
    if (record.uuid == error) record.cyborg_uuid = cyborgs;
  }
  const Response response = get("/v2/devices/" + cyborgs, "2.6");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, get("/v2/devices/" + error, "2.6").body);
  EXPECT_THAT(response.body, HasSubstr(R"("cyborg_uuid":")" + cyborgs + '"'));
  EXPECT_EQ(post("/v2/devices/" + cyborgs + "/clean").status, 202);
  ASSERT_EQ(store.orders.size(), 1U);
  EXPECT_EQ(store.orders[0].second.address, "0000:02:00.0");
}

// A host's login may write the UUID that Cyborg gave another host's device into a record of its
// own.
TEST_F(ApiDevicesTest, AUuidOfCyborgsThatTwoHaveNamesBoth) {
  const std::string cyborgs = "7d3f2b1a-0f7e-4c8e-9a55-2f1d5c0d9f22";
  examples();
  drive("compute-1", "0000:05:00.0", Stage::error).cyborg_uuid = cyborgs;
  store.records["compute-2"].front().cyborg_uuid = cyborgs;
  const std::string there = to_string(store.records["compute-2"].front().address);
  for (const Response& response :
       {get("/v2/devices/" + cyborgs, "2.6"), post("/v2/devices/" + cyborgs + "/clean"),
        post("/v2/devices/" + cyborgs + "/disable")}) {
    EXPECT_EQ(response.status, 409);
    EXPECT_THAT(fault_of(response),
                HasSubstr("0000:05:00.0 of host compute-1 and " + there + " of host compute-2"));
  }
  EXPECT_TRUE(store.orders.empty());
}

TEST_F(ApiDevicesTest, OneIsAPlainObjectFoundInWhateverCase) {
  examples();
  std::string upper = error;
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
  EXPECT_EQ(get("/v2/devices/" + upper).body, get("/v2/devices/" + error).body);
  EXPECT_EQ(get("/v2/devices/" + error).body.rfind(R"({"uuid":)", 0), 0U);
}

TEST_F(ApiDevicesTest, AnUnknownDeviceIs404) {
  examples();
  const Response response = get("/v2/devices/7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e");
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(fault_of(response), HasSubstr("7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e"));
}

TEST_F(ApiDevicesTest, StepsShowPlanStepProgressFindingsAndWhatIsWaitedFor) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::erasing);
  record.plan = {{"nvme", "check_health", 90, "{}"},
                 {"nvme", "sanitize_crypto", 10, R"({"no_dealloc": true})"}};
  record.clean_step = "nvme.sanitize_crypto";
  record.progress_percent = 42.5;
  record.progress_eta_s = 17;
  record.progress_message = "burning";
  record.cleaning_started_at = *from_iso8601("2026-05-15T16:30:15.250Z");
  record.findings =
      R"({"nvme.check_health": [{"surface": "percentage_used", "found": "3 %", "reset": false}]})";
  EXPECT_THAT(get("/v2/devices/" + record.uuid, "2.7").body,
              HasSubstr(R"("percentage_used":3,"available_spare":null)"));
  const Response response = get("/v2/devices/" + record.uuid + "/cleaning/steps");
  EXPECT_EQ(response.status, 200);
  expect_golden("steps-2.5.json", response.body);
  EXPECT_EQ(get("/v2/devices/" + record.uuid + "/cleaning", "2.7").body, response.body);
  EXPECT_EQ(get("/v2/devices/" + record.uuid + "/cleaning", "2.6").status, 406);

  store.records["compute-1"][0] = Record{};
  store.records["compute-1"].clear();
  Record& idle = drive("compute-1", "0000:01:00.0", Stage::pending_cleaning);
  idle.waiting_for = "the host driver";
  idle.findings = "no JSON";
  const Response waiting = get("/v2/devices/" + idle.uuid + "/cleaning/steps");
  EXPECT_THAT(waiting.body, HasSubstr(R"("waiting_for":"the host driver")"));
  EXPECT_THAT(waiting.body, HasSubstr(R"("findings":{})"));
  EXPECT_THAT(waiting.body, HasSubstr(R"("clean_step":null)"));
  EXPECT_THAT(waiting.body, HasSubstr(R"("last_error":null)"));
}

// Ironic's specification: get_clean_steps() in JSON, the enabled ones, the highest priority first.
TEST_F(ApiDevicesTest, StepsAreIronicsListFromItsMicroversionOn) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::erasing);
  record.plan = {{"card", "reflash", 60, "{}", true},
                 {"nvme", "check_health", 90, "{}"},
                 {"nvme", "reset_namespaces", 0, "{}"},
                 {"nvme", "sanitize_crypto", 50, R"({"no_dealloc": true})"},
                 {"site", "audit", 20, "{}"}};
  const Response response = get("/v2/devices/" + record.uuid + "/cleaning/steps", "2.7");
  EXPECT_EQ(response.status, 200);
  expect_golden("steps-2.7.json", response.body);
  record.plan.clear();
  EXPECT_EQ(get("/v2/devices/" + record.uuid + "/cleaning/steps", "latest").body, "[]");
}

TEST_F(ApiDevicesTest, StepsShowTagsAndPoliciesWhereThereAreAny) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::pending_cleaning);
  record.tags = {"db", "tier=1"};
  record.policies = {"gold"};
  const std::string path = "/v2/devices/" + record.uuid + "/cleaning/steps";
  EXPECT_THAT(get(path).body, HasSubstr(R"("policies":["gold"])"));
  EXPECT_THAT(get(path).body, HasSubstr(R"("tagged_device":{"type":"disk","bus":"pci",)"
                                        R"("address":"0000:01:00.0")"));
  EXPECT_THAT(get(path).body, HasSubstr(R"("tags":["db","tier=1"]})"));
}

TEST_F(ApiDevicesTest, CallsOfALaterMicroversionAre406AsCyborgsAre) {
  examples();
  for (const std::string version : {"2.0", "2.4"}) {
    const Response clean = post("/v2/devices/" + error + "/clean", version);
    EXPECT_EQ(clean.status, 406);
    EXPECT_THAT(fault_of(clean), HasSubstr("should be 2.5"));
    EXPECT_EQ(get("/v2/devices/" + error + "/cleaning/steps", version).status, 406);
  }
  EXPECT_TRUE(store.orders.empty());
}

// Whatever a host's login wrote there: the caller's client prints it.
TEST_F(ApiDevicesTest, NothingOfARecordMovesACursor) {
  const std::string evil =
      "a\x1b[2J\xC2\x9B"
      "b\xE2\x80\xAE"
      "c\nd";
  Record& record = drive("compute-1", "0000:01:00.0", Stage::preparing);
  record.waiting_for = record.last_error = record.progress_message = evil;
  record.clean_step = "nvme." + evil;
  record.tags = {evil};
  record.findings = R"({"nvme.x\u001b": [{"surface": "s\u001b[2J", "found": "\u202e\n"}]})";
  record.plan = {{"x\x1b", "y\x1b", 0, R"({"a":"\u001b"})"}};
  for (const std::string& path : {"/v2/devices/" + record.uuid, std::string("/v2/devices"),
                                  "/v2/devices/" + record.uuid + "/cleaning/steps"}) {
    const Response response = get(path, "2.6");
    ASSERT_EQ(response.status, 200) << path;
    EXPECT_THAT(response.body, HasSubstr(R"(a\\x1b[2J)")) << path;
    for (const char* obeyed : {"\\u001", "\\u009", "\\n", "\xC2\x9B", "\xE2\x80\xAE", "\x1b"}) {
      EXPECT_THAT(response.body, Not(HasSubstr(obeyed))) << path << obeyed;
    }
  }
}

class ApiUnholdTest : public ApiDevicesTest {
 protected:
  Response unhold(const std::string& clean_step, const std::string& token = "admin") {
    Record& record = drive("compute-1", "0000:01:00.0", Stage::preparing);
    record.clean_step = clean_step;
    return post("/v2/devices/" + record.uuid + "/unhold", "2.5", token);
  }
};

TEST_F(ApiUnholdTest, AcceptedIsAnOrderWithTheNodesCode) {
  seal = [](const std::string& host, Order& order) { order.mac = "of " + host; };
  EXPECT_EQ(unhold("hold.eyes").status, 202);
  ASSERT_EQ(store.orders.size(), 1U);
  EXPECT_EQ(store.orders[0].second.order, "unhold");
  EXPECT_EQ(store.orders[0].second.mac, "of compute-1");
  EXPECT_EQ(store.orders[0].second.hold, hold_id(store.records["compute-1"].front()));
  EXPECT_THAT(store.orders[0].second.who, HasSubstr("keystone user "));
}

// A hold of two approvals waits for two persons.
TEST_F(ApiUnholdTest, OneUserIsOnePersonInWhateverProject) {
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  tokens.known["elsewhere"] = tokens.known["admin"];
  tokens.known["elsewhere"].project_id = kOtherProject;
  tokens.known["namesake"] = tokens.known["admin"];
  tokens.known["namesake"].user_domain_id = "another";
  for (const std::string token : {"admin", "elsewhere", "namesake"}) {
    EXPECT_EQ(unhold("hold.eyes", token).status, 202) << token;
  }
  ASSERT_EQ(store.orders.size(), 3U);
  EXPECT_EQ(store.orders[0].second.who, store.orders[1].second.who);
  EXPECT_NE(store.orders[0].second.who, store.orders[2].second.who);
}

// With a service's token, whoever has old tokens of others would approve in their names.
TEST_F(ApiUnholdTest, ATokenBesideAServicesApprovesNothing) {
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  tokens.known["service"] = tokens.known["admin"];
  tokens.known["service"].service_roles = {"service"};
  const Response response = unhold("hold.eyes", "service");
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(fault_of(response), HasSubstr("use a token of your own"));
  EXPECT_TRUE(store.orders.empty());
}

// Its login stands on each compute host, and a policy file may let every admin approve.
TEST_F(ApiUnholdTest, AServiceApprovesNothing) {
  start({{"cyborg:device:unhold", "role:admin"}}, {});
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  tokens.known["nova"] = tokens.known["admin"];
  tokens.known["nova"].roles.push_back("service");
  const Response response = unhold("hold.eyes", "nova");
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(fault_of(response), HasSubstr("use a token of your own"));
  EXPECT_TRUE(store.orders.empty());
}

// By a trust or OAuth one person would approve as two.
TEST_F(ApiUnholdTest, ADelegatedTokenApprovesNothing) {
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  tokens.known["trust"] = tokens.known["admin"];
  tokens.known["trust"].delegated = true;
  const Response response = unhold("hold.eyes", "trust");
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(fault_of(response), HasSubstr("use a token of your own"));
  EXPECT_TRUE(store.orders.empty());
}

TEST_F(ApiUnholdTest, WithoutAKeyTheNodeSaysWhatToDo) {
  const Response response = unhold("hold.eyes");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(fault_of(response), HasSubstr("set [security] order_key_file"));
  EXPECT_TRUE(store.orders.empty());
}

TEST_F(ApiUnholdTest, OfWhatWaitsAtNoHoldIsAConflict) {
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  const Response response = unhold("nvme.check_health");
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(fault_of(response), HasSubstr("waits at no hold"));
  EXPECT_EQ(unhold("hold.eyes", "reader").status, 403);
  EXPECT_TRUE(store.orders.empty());
}

// Where the host has a key of orders it believes no other.
TEST_F(ApiUnholdTest, ACleanOrderIsSealedToo) {
  seal = [](const std::string& host, Order& order) { order.mac = host; };
  Record& record = drive("compute-1", "0000:01:00.0", Stage::pending_cleaning);
  record.clean_start = CleanStart::awaited;
  EXPECT_EQ(post("/v2/devices/" + record.uuid + "/clean", "2.5").status, 202)
      << "an operator starts it";
  EXPECT_EQ(store.orders.at(0).second.mac, "compute-1");
}

class ApiCleanTest : public ApiDevicesTest {
 protected:
  // Asks for it, and holds that nothing was done unless it was accepted.
  Response clean(const std::string& uuid, const std::string& token = "admin") {
    const Response response = post("/v2/devices/" + uuid + "/clean", "2.5", token);
    EXPECT_EQ(store.orders.size(), response.status == 202 ? 1U : 0U);
    return response;
  }
  Response clean_in(Stage stage) { return clean(drive("compute-1", "0000:01:00.0", stage).uuid); }
};

TEST_F(ApiCleanTest, AcceptedIs202WithoutABodyAndAnOrderToTheDevicesHost) {
  examples();
  const Response response = clean(error);
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(header(response, "Content-Type"), "");
  ASSERT_EQ(store.orders.size(), 1U);
  EXPECT_EQ(store.orders[0].first, "compute-2");
  const Order& order = store.orders[0].second;
  EXPECT_EQ(order.order, "clean");
  EXPECT_EQ(order.address, "0000:02:00.0");
  EXPECT_EQ(order.request_id, "req-3b5b4a5e-6d6f-4a0c-8c59-0d8d1f0f2f5a");
  EXPECT_THAT(order.who, ::testing::MatchesRegex("keystone user .+ of domain .+"));
  EXPECT_EQ(order.issued_at, clock.now().wall);
}

TEST_F(ApiCleanTest, BadRequestWhenTheDeviceDoesNotSupportCleaning) {
  examples();
  const Response response = clean(gpu);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(fault_of(response), HasSubstr("type GPU"));
}

TEST_F(ApiCleanTest, BadRequestWhenNoLiveWorkerCanCleanIt) {
  examples();
  clock.advance(300'000);
  EXPECT_EQ(clean(error).status, 202) << "at the limit";
  store.orders.clear();
  clock.advance(1'000);
  const Response response = clean(error);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(fault_of(response), HasSubstr("No worker on host compute-2"));
  EXPECT_THAT(fault_of(response), HasSubstr("301 s ago"));
  store.workers[1].heartbeat_at = clock.now().wall;
  store.workers[1].stopped = true;
  clock.advance(2'000);
  EXPECT_THAT(fault_of(clean(error)), HasSubstr("it was stopped 2 s ago"));
  store.workers[1].stopped = false;
  store.workers[1].heartbeat_at = WallMs{};
  clock.advance(2'000);
  EXPECT_THAT(fault_of(clean(error)), HasSubstr("no heartbeat"));
}

TEST_F(ApiCleanTest, ForbiddenWithoutThePolicy) {
  examples();
  for (const std::string who : {"manager", "reader", "stranger"}) {
    const Response response = clean(error, who);
    EXPECT_EQ(response.status, 403) << who;
    EXPECT_THAT(fault_of(response), HasSubstr("cyborg:device:clean")) << who;
  }
}

TEST_F(ApiCleanTest, NotFoundWhenThereIsNoSuchDevice) {
  EXPECT_EQ(clean("7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e").status, 404);
}

TEST_F(ApiCleanTest, ConflictWhenAvailable) {
  const Response response = clean_in(Stage::available);
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(fault_of(response), HasSubstr("is available: it is clean already"));
  expect_golden("clean-409.json", response.body);
}

TEST_F(ApiCleanTest, AcceptedWhenNobodyCanTellWhyItIsReserved) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::available);
  record.held = true;
  record.waiting_for = "reserved, and nobody saw why";
  EXPECT_EQ(clean(record.uuid).status, 409);
  record.waiting_for += kCleanInDoubt;
  EXPECT_EQ(clean(record.uuid).status, 202);
}

TEST_F(ApiCleanTest, ConflictWhenAllocated) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::allocated);
  record.instance = "a11a5487-696b-4d4e-a487-6b9ec9d7e458";
  const Response response = clean(record.uuid);
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(fault_of(response),
              HasSubstr("is allocated to instance a11a5487-696b-4d4e-a487-6b9ec9d7e458"));
}

TEST_F(ApiCleanTest, ConflictWhenAllocatedNamesTheAcceleratorRequest) {
  const std::string arq = "2f59e9d8-5a17-4607-83c5-e2ff83cce2c7";
  Record& record = drive("compute-1", "0000:01:00.0", Stage::allocated);
  record.arq = arq;
  record.instance = "a11a5487-696b-4d4e-a487-6b9ec9d7e458";
  record.instance_source = InstanceSource::allocation;
  EXPECT_THAT(fault_of(clean(record.uuid)),
              HasSubstr("to instance a11a5487-696b-4d4e-a487-6b9ec9d7e458 by accelerator request " +
                        arq + ": it is cleaned automatically"));
  // Placement never showed an instance: nothing but the ARQ holds it, and a word on the host ends
  // that.
  record.instance.clear();
  const Response heard_of = clean(record.uuid);
  EXPECT_EQ(heard_of.status, 409);
  EXPECT_THAT(fault_of(heard_of), HasSubstr(arq));
  EXPECT_THAT(fault_of(heard_of), HasSubstr("`reclaim device clean 0000:01:00.0`"));
  // In the Nova flow no ARQ holds anything.
  record.flow = Flow::nova;
  EXPECT_THAT(fault_of(clean(record.uuid)), ::testing::Not(HasSubstr("accelerator request")));
}

TEST_F(ApiCleanTest, OneInMaintenanceIsAcceptedAndWaitsAtItsHost) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::error);
  record.maintenance = true;
  EXPECT_EQ(clean(record.uuid).status, 202);
}

TEST_F(ApiCleanTest, ConflictWhenPendingCleaning) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::pending_cleaning);
  record.waiting_for = "the host driver";
  const Response response = clean(record.uuid);
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(fault_of(response), HasSubstr("is pending_cleaning"));
  EXPECT_THAT(fault_of(response), HasSubstr("the host driver"));
}

TEST_F(ApiCleanTest, ConflictWhenCleaningWhateverTheStage) {
  for (const Stage stage :
       {Stage::guarding, Stage::rechecking, Stage::preparing, Stage::baselining, Stage::erasing,
        Stage::verifying, Stage::restoring, Stage::looking, Stage::releasing, Stage::confirming}) {
    store.records.clear();
    const Response response = clean_in(stage);
    EXPECT_EQ(response.status, 409) << to_string(stage);
    EXPECT_THAT(fault_of(response), HasSubstr("is cleaning")) << to_string(stage);
  }
}

TEST_F(ApiCleanTest, ConflictWhenItsRecordCannotBeRead) {
  Record& record = drive("compute-1", "0000:01:00.0", Stage::error);
  record.damage = "its record cannot be read: stage: mend the field";
  const Response response = clean(record.uuid);
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(fault_of(response), HasSubstr("mend the field"));
}

TEST_F(ApiCleanTest, TheStateIsTheOneOfNowNotOfAMomentAgo) {
  examples();
  static_cast<void>(get("/v2/devices"));
  store.records["compute-2"][0].stage = Stage::erasing;
  EXPECT_EQ(clean(error).status, 409);
}

TEST_F(ApiCleanTest, ItTakesNoArguments) {
  examples();
  Request asked = request("POST", "/v2/devices/" + error + "/clean");
  asked.body = R"({"force": true})";
  EXPECT_EQ(ask(asked).status, 400);
  EXPECT_TRUE(store.orders.empty());
  for (const std::string body : {"", "{}", " { } \n"}) {
    asked.body = body;
    EXPECT_EQ(ask(asked).status, 202) << body;
  }
  EXPECT_EQ(post("/v2/devices/" + error + "/clean?force=1").status, 400);
}

TEST_F(ApiCleanTest, RedisAwayIs503) {
  examples();
  static_cast<void>(get("/v2/devices"));
  store.away = true;
  EXPECT_EQ(clean(error).status, 503);
}

TEST_F(ApiCleanTest, EveryAttemptIsInTheAuditLog) {
  examples();
  const auto audited = [this] {
    std::vector<std::string> lines;
    for (const std::string& line : logger.lines) {
      if (line.rfind("reclaim.api.audit: ", 0) == 0) lines.push_back(line);
    }
    logger.lines.clear();
    return lines;
  };
  static_cast<void>(clean(error));
  store.orders.clear();
  static_cast<void>(clean(error, "reader"));
  static_cast<void>(clean(available));
  static_cast<void>(get("/v2/devices/" + error));
  auto lines = audited();
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, HasSubstr(std::string("project_id=") + kOurProject));
    EXPECT_THAT(line, HasSubstr("request_id=req-3b5b4a5e-6d6f-4a0c-8c59-0d8d1f0f2f5a"));
  }
  EXPECT_THAT(lines[0], HasSubstr("user_id=user-admin"));
  EXPECT_THAT(lines[0], HasSubstr("outcome=accepted"));
  EXPECT_THAT(lines[0], HasSubstr("device=" + error));
  EXPECT_THAT(lines[1], HasSubstr("user_id=user-reader"));
  EXPECT_THAT(lines[1], HasSubstr("outcome=refused with 403"));
  EXPECT_THAT(lines[2], HasSubstr("outcome=refused with 409"));
  // Nor does one go unseen that Keystone let nobody in for.
  static_cast<void>(clean(error, ""));
  static_cast<void>(clean(error, "gAAAAA-wrong"));
  tokens.trouble = Error{Errc::unavailable, "controller:5000 does not answer"};
  static_cast<void>(clean(error));
  static_cast<void>(post("/v2/devices/" + error + "/clean?%zz"));
  lines = audited();
  ASSERT_EQ(lines.size(), 4U);
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("user_id=- project_id=-"));
  EXPECT_THAT(lines[0], HasSubstr("outcome=refused with 401"));
  EXPECT_THAT(lines[1], HasSubstr("outcome=refused with 401"));
  EXPECT_THAT(lines[2], HasSubstr("outcome=refused with 503"));
  EXPECT_THAT(lines[3], HasSubstr("outcome=refused with 400"));
  EXPECT_THAT(lines[3], HasSubstr("device=" + error));
}

}  // namespace
}  // namespace reclaim::api
