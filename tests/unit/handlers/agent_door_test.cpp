// The door of Cyborg's agent over what a test tells it: each request, each answer, each refusal.
#include "handlers/door/agent_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "state/base/json.h"
#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::door {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct AgentDoorTest : ::testing::Test {
  AgentDoorTest() {
    ReportedDrive drive;
    drive.address = parse_pci_address("0000:01:00.0").value();
    drive.state = DeviceState::available;
    drive.vendor_id = "144d";
    drive.product_id = "a80a";
    drive.serial = "S\"1";
    drive.resource_class = "CUSTOM_NVME_144D_A80A";
    drive.traits = {"HW_NVME_CES", "HW_NVME_WZS"};
    drive.action = "sanitize_crypto";
    drive.clean = drive.offered = true;
    drive.cleaned_at = WallMs{500};
    drive.looked_at = WallMs{1'000};
    drives.push_back(drive);
    door.emplace("compute-1", ports());
  }

  Ports ports() {
    return {
        [this] { return not_ready; },
        [this] { return drives; },
        [this] { ++looks; },
        [this](const PciAddress& address, const std::string& request_id, Callback<Ok> done) {
          ordered.push_back(to_string(address) + " " + request_id);
          if (redis) return done(Ok{});
          done(Error{Errc::unavailable, "Redis is away"});
        },
        [this](const std::vector<std::string>& traits, Callback<std::vector<std::string>> done) {
          asked_traits = traits;
          if (known) return done(*known);
          done(Error{Errc::unavailable, "no answer"});
        },
        clock};
  }

  api::Response ask(const std::string& method, const std::string& target) {
    std::optional<api::Response> answered;
    api::Request request;
    request.method = method;
    request.target = target;
    request.request_id = "req-1";
    door->handle(std::move(request),
                 [&](api::Response response) { answered = std::move(response); });
    EXPECT_TRUE(answered);
    EXPECT_TRUE(json::parse(answered->body, 1U << 20U)) << answered->body;
    return *answered;
  }

  std::string not_ready;
  std::vector<ReportedDrive> drives;
  std::optional<std::vector<std::string>> known{{"OWNER_CYBORG", "HW_NVME_CES"}};
  std::vector<std::string> asked_traits;
  std::vector<std::string> ordered;
  int looks = 0;
  bool redis = true;
  api::TestClock clock;
  std::optional<AgentDoor> door;
};

TEST_F(AgentDoorTest, ListsTheDrivesWithTheTraitsThatPlacementKnows) {
  const auto answer = ask("GET", "/v1/drives");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(asked_traits, ElementsAre("OWNER_CYBORG", "HW_NVME_CES", "HW_NVME_WZS"));
  EXPECT_THAT(answer.body, HasSubstr(R"("host":"compute-1")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("traits":["HW_NVME_CES"],"action":"sanitize_crypto")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("serial":"S\"1")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("clean":true,"offered":true,"cleaned_ms":500)"));
}

TEST_F(AgentDoorTest, ADriveThatWasNotReadHasNoTraitsAndNotNone) {
  drives.front().traits.reset();
  EXPECT_THAT(ask("GET", "/v1/drives").body, HasSubstr(R"("traits":null)"));
}

TEST_F(AgentDoorTest, WithoutPlacementOrItsTraitNothingIsListed) {
  known = {{"HW_NVME_CES"}};
  EXPECT_EQ(ask("GET", "/v1/drives").status, 503);
  EXPECT_THAT(ask("GET", "/v1/drives").body, HasSubstr("install a newer os-traits"));
  known.reset();
  EXPECT_EQ(ask("GET", "/v1/drives").status, 503);
}

TEST_F(AgentDoorTest, AnswersForNothingBeforeASurveyWentThrough) {
  not_ready = "no survey went through yet";
  for (const char* target : {"/v1/drives", "/v1/drives/0000:01:00.0"}) {
    EXPECT_EQ(ask("GET", target).status, 503);
  }
  EXPECT_EQ(ask("POST", "/v1/drives/0000:01:00.0/cleanup").status, 503);
  EXPECT_TRUE(ordered.empty());
}

TEST_F(AgentDoorTest, LooksAgainAtWhatWasNotLookedAtSince) {
  EXPECT_EQ(ask("GET", "/v1/drives/0000:01:00.0?since_ms=999").status, 200);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(ask("GET", "/v1/drives/0000:01:00.0?since_ms=1000").status, 200);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(ask("GET", "/v1/drives/0000:01:00.0").status, 200);
  EXPECT_EQ(looks, 1);
}

TEST_F(AgentDoorTest, AnOrderIsTakenWhenItIsDurable) {
  const auto answer = ask("POST", "/v1/drives/0000:01:00.0/cleanup");
  EXPECT_EQ(answer.status, 202);
  EXPECT_THAT(answer.body, HasSubstr("asked_ms"));
  EXPECT_THAT(ordered, ElementsAre("0000:01:00.0 req-1"));
  redis = false;
  EXPECT_EQ(ask("POST", "/v1/drives/0000:01:00.0/cleanup").status, 503);
}

TEST_F(AgentDoorTest, RefusesAllElse) {
  for (const char* target :
       {"/", "/v1", "/v1/drivesX", "/v2/devices", "/v1/drives/0000:01:00.0/erase",
        "/v1/drives/0000:01:00.0/cleanup/x"}) {
    EXPECT_EQ(ask("GET", target).status, 404) << target;
  }
  for (const char* target :
       {"/v1/drives?x=1", "/v1/drives?since_ms=", "/v1/drives?since_ms=-1",
        "/v1/drives?since_ms=1&since_ms=2", "/v1/drives/..", "/v1/drives/01:00",
        "/v1/drives/0000:01:00.0%00", "/v1/drives/0000:01:00.0?since_ms=99999999999999999999"}) {
    EXPECT_EQ(ask("GET", target).status, 400) << target;
  }
  EXPECT_EQ(ask("GET", "/v1/drives/0000:02:00.0").status, 404);
  EXPECT_EQ(ask("POST", "/v1/drives/0000:02:00.0/cleanup").status, 404);
  for (const char* method : {"PUT", "DELETE", "POST", "PATCH"}) {
    const auto answer = ask(method, "/v1/drives/0000:01:00.0");
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer.headers.back().value, "GET");
  }
  EXPECT_EQ(ask("GET", "/v1/drives/0000:01:00.0/cleanup").status, 405);
  EXPECT_TRUE(ordered.empty());
}

}  // namespace
}  // namespace reclaim::door
