// Cyborg's client as a whole over a scripted transport: which requests it makes in which version,
// and when it refuses to believe an answer.
#include "placement/cyborg/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kArq = "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b";
constexpr const char* kDevice = "359c0990-0258-44fd-8b05-fc510ac3d022";

HttpResponse versions(const std::string& max, const std::string& spoken = "accelerator 2.0") {
  HttpResponse response = answer(200, R"({"id": "v2.0", "max_version": ")" + max +
                                          R"(", "min_version": "2.0", "status": "CURRENT"})");
  response.headers.push_back({"OpenStack-API-Version", spoken});
  return response;
}
HttpResponse arqs(const std::string& state) {
  return answer(200, R"({"arqs": [{"uuid": ")" + std::string(kArq) + R"(", "hostname": "h",
    "state": ")" + state +
                         R"(", "attach_handle_info":
    {"domain": "0000", "bus": "c1", "device": "00", "function": "0", "managed": false}}]})");
}
HttpResponse devices(const std::string& uuid = kDevice) {
  return answer(200, R"({"devices": [{"uuid": ")" + uuid +
                         R"(", "hostname": "h", "type": "SSD", "status": "maintaining"}]})");
}
HttpResponse deployables(const std::string& provider) {
  return answer(200, R"({"deployables": [{"name": "h_0000:c1:00.0", "device_id": 1, "rp_uuid": )" +
                         provider + "}]}");
}
constexpr const char* kProvider = "\"03631f82-20a9-3f67-a29d-dc1abe4041bf\"";

class CyborgClientTest : public ::testing::Test {
 protected:
  CyborgClientTest() {
    options_.session.auth_url = "http://keystone:5000";
    options_.session.username = "u";
    options_.session.password = "p";
    options_.session.default_domain_name = "Default";
    options_.session.project_name = "service";
    make_client();
  }
  void make_client() {
    client_.reset();
    auto made = CyborgClient::create(options_, {transport_, timers_, clock_, logger_});
    ASSERT_TRUE(made.ok()) << made.error().what;
    client_ = *std::move(made);
  }
  void script_login(HttpResponse version_document) {
    transport_.then(recorded("keystone-30/post-auth-tokens.http"));
    transport_.then(std::move(version_document));
  }
  Result<CyborgView> read(const std::string& host = "h") {
    std::optional<Result<CyborgView>> slot;
    transport_.sent.clear();
    client_->read({host, {}}, [&slot](Result<CyborgView> view) {
      EXPECT_FALSE(slot.has_value()) << "called twice";
      slot = std::move(view);
    });
    EXPECT_FALSE(slot.has_value()) << "called at once";
    while (timers_.wake_one() || transport_.deliver()) {
    }
    return slot ? *std::move(slot) : Result<CyborgView>(Error{Errc::failed, "never called"});
  }
  std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (const HttpRequest& each : transport_.sent) {
      EXPECT_EQ(each.method, each.url.ends_with("/auth/tokens") ? "POST" : "GET");
      all.push_back(each.url.substr(each.url.find('/', 8)));
    }
    return all;
  }
  std::string version_of(std::size_t request) const {
    for (const HttpHeader& each : transport_.sent.at(request).headers) {
      if (each.name == "OpenStack-API-Version") return each.value;
    }
    return "";
  }

  CyborgOptions options_;
  ScriptedTransport transport_;
  InstantTimers timers_;
  SetClock clock_;
  NullLogger logger_;
  std::unique_ptr<CyborgClient> client_;
};

TEST_F(CyborgClientTest, RefusesOptionsThatCannotWork) {
  options_.session.password.clear();
  EXPECT_EQ(CyborgClient::create(options_, {transport_, timers_, clock_, logger_}).error().code,
            Errc::invalid);
}

TEST_F(CyborgClientTest, ReadsArqsDevicesAndDeployables) {
  script_login(versions("2.4"));
  transport_.then(arqs("Bound"));
  transport_.then(devices());
  transport_.then(deployables(kProvider));
  const auto view = read();
  ASSERT_TRUE(view.ok()) << view.error().what;
  EXPECT_THAT(urls(), ElementsAre("/v3/auth/tokens", "/v2", "/v2/accelerator_requests",
                                  "/v2/devices?hostname=h", "/v2/deployables"));
  for (const std::size_t request : {2U, 3U, 4U}) {
    EXPECT_EQ(version_of(request), "accelerator 2.4");
  }
  ASSERT_EQ(view->arqs.size(), 1U);
  EXPECT_FALSE(view->arqs.front().is_managed());
  EXPECT_EQ(view->arqs.front().heard_at, clock_.at.wall);
  ASSERT_EQ(view->devices.size(), 1U);
  EXPECT_EQ(view->devices.front().status, "maintaining");
  EXPECT_EQ(to_string(*view->devices.front().address), "0000:c1:00.0");
  EXPECT_EQ(view->devices.front().provider, "03631f82-20a9-3f67-a29d-dc1abe4041bf");
}

TEST_F(CyborgClientTest, SpeaksTheBestVersionThereIsInTheFormThatIsUnderstood) {
  script_login(versions("2.3", "2.0"));
  transport_.then(arqs("Bound"));
  transport_.then(devices());
  transport_.then(deployables(kProvider));
  ASSERT_TRUE(read().ok());
  EXPECT_EQ(version_of(2), "2.3");

  make_client();
  script_login(versions("2.9"));
  transport_.then(arqs("Bound"));
  transport_.then(devices());
  transport_.then(deployables(kProvider));
  ASSERT_TRUE(read().ok());
  EXPECT_EQ(version_of(2), "accelerator 2.4");

  make_client();
  script_login(versions("2.0"));
  transport_.then(arqs("Bound"));
  transport_.then(replaced(devices(), R"(, "status": "maintaining")", ""));
  transport_.then(deployables(kProvider));
  const auto view = read();
  ASSERT_TRUE(view.ok()) << view.error().what;
  EXPECT_EQ(version_of(2), "accelerator 2.0");
  EXPECT_EQ(view->devices.front().status, "");
}

TEST_F(CyborgClientTest, AStatusThatGetsLostOnTheWayIsAnError) {
  script_login(versions("2.3"));
  transport_.then(arqs("Bound"));
  transport_.then(replaced(devices(), R"(, "status": "maintaining")", ""));
  EXPECT_THAT(read().error().what, HasSubstr("'status' is missing"));
}

// A user without the role is answered 200 and an empty list: every binding would look over.
TEST_F(CyborgClientTest, AsksNothingWithoutTheRoleAdmin) {
  transport_.then(replaced(recorded("keystone-30/post-auth-tokens.http"), "\"name\": \"admin\"",
                           "\"name\": \"operator\""));
  transport_.then(versions("2.3"));
  const auto view = read();
  EXPECT_EQ(view.error().code, Errc::refused);
  EXPECT_THAT(view.error().what, AllOf(HasSubstr("role admin"), HasSubstr("operator")));
  EXPECT_THAT(urls(), ElementsAre("/v3/auth/tokens", "/v2"));
}

TEST_F(CyborgClientTest, AnArqThatCannotBeReadFailsTheWholeRead) {
  script_login(versions("2.3"));
  transport_.then(arqs("Sleeping"));
  const auto view = read();
  EXPECT_EQ(view.error().code, Errc::invalid);
  EXPECT_THAT(view.error().what, AllOf(HasSubstr(kArq), HasSubstr("Sleeping")));
}

TEST_F(CyborgClientTest, TheDeployablesOfTheWholeCloudAreReadAgainOnlyWhenSomethingChanged) {
  script_login(versions("2.3"));
  const auto script = [&](HttpResponse some_devices, bool read_again) {
    transport_.then(arqs("Bound"));
    transport_.then(std::move(some_devices));
    if (read_again) transport_.then(deployables(kProvider));
    const auto view = read();
    ASSERT_TRUE(view.ok()) << view.error().what;
    EXPECT_EQ(view->devices.front().provider, "03631f82-20a9-3f67-a29d-dc1abe4041bf");
    EXPECT_TRUE(transport_.all_played());
  };
  script(devices(), true);
  script(devices(), false);
  script(replaced(devices(), "maintaining", "enabled"), false);  // the status is always new
  script(devices("11111111-1111-4111-8111-111111111111"), true);
  clock_.at.mono.ms += options_.deployables_fresh_ms - 1;
  script(devices("11111111-1111-4111-8111-111111111111"), false);
  clock_.at.mono.ms += 1;
  script(devices("11111111-1111-4111-8111-111111111111"), true);
}

TEST_F(CyborgClientTest, ADeployableWithoutAProviderIsAskedForAgain) {
  script_login(versions("2.3"));
  for (const char* provider : {"null", kProvider}) {
    transport_.then(arqs("Bound"));
    transport_.then(devices());
    transport_.then(deployables(provider));
    ASSERT_TRUE(read().ok());
  }
  EXPECT_TRUE(transport_.all_played());
}

TEST_F(CyborgClientTest, LogsInOnceMoreWhenTheTokenIsRefused) {
  script_login(versions("2.4"));
  transport_.then(answer(401, ""));
  transport_.then(recorded("keystone-30/post-auth-tokens.http"));
  transport_.then(arqs("Bound"));
  transport_.then(devices());
  transport_.then(deployables(kProvider));
  ASSERT_TRUE(read().ok());

  transport_.then(answer(401, ""));
  transport_.then(recorded("keystone-30/post-auth-tokens.http"));
  transport_.then(answer(401, R"({"error": {"message": "no"}})"));
  const auto view = read();
  EXPECT_EQ(view.error().code, Errc::refused);
  EXPECT_THAT(view.error().what, HasSubstr("Cyborg's keystonemiddleware"));
}

TEST_F(CyborgClientTest, ARestartOfAnOlderCyborgIsAskedWhatItSpeaks) {
  script_login(versions("2.4"));
  HttpResponse not_spoken =
      answer(406, R"({"error_message": "Version 2.4 was requested but is not supported."})");
  not_spoken.headers.push_back({"OpenStack-API-Maximum-Version", "2.3"});
  transport_.then(not_spoken);
  const auto refused = read();
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("Cyborg answered 406"), HasSubstr("at most microversion 2.3"),
                    HasSubstr("Version 2.4 was requested")));
  script_login(versions("2.3"));
  transport_.then(arqs("Bound"));
  transport_.then(devices());
  transport_.then(deployables(kProvider));
  EXPECT_TRUE(read().ok());
  EXPECT_EQ(version_of(2), "accelerator 2.3");
}

TEST_F(CyborgClientTest, SaysWhatCyborgSaid) {
  script_login(versions("2.4"));
  transport_.then(
      answer(404, R"({"error_message": "{\"faultstring\": \"Attach Handle not found\"}"})"));
  const auto gone = read();
  EXPECT_EQ(gone.error().code, Errc::not_found);
  EXPECT_THAT(gone.error().what,
              AllOf(HasSubstr("Cyborg answered 404 to GET /accelerator_requests"),
                    HasSubstr("Attach Handle not found")));
  transport_.then(answer(403, ""));
  EXPECT_THAT(read().error().what, HasSubstr("role admin"));
}

TEST_F(CyborgClientTest, AnOverloadedOneIsTriedAgainAndThenUnavailable) {
  script_login(versions("2.4"));
  transport_.then(answer(503, ""));
  transport_.then(arqs("Bound"));
  transport_.then(devices());
  transport_.then(deployables(kProvider));
  EXPECT_TRUE(read().ok());
  for (int i = 0; i <= options_.session.status_code_retries; ++i) transport_.then(answer(502, ""));
  EXPECT_EQ(read().error().code, Errc::unavailable);
  EXPECT_EQ(timers_.delays_ms.size(), 3U);
}

TEST_F(CyborgClientTest, NoHostNoQuestion) {
  script_login(versions("2.4"));
  EXPECT_EQ(read("").error().code, Errc::invalid);
}

TEST_F(CyborgClientTest, AHostsNameIsEncoded) {
  script_login(versions("2.4"));
  transport_.then(answer(200, R"({"arqs": []})"));
  transport_.then(answer(200, R"({"devices": []})"));
  transport_.then(answer(200, R"({"deployables": []})"));
  ASSERT_TRUE(read("a&b").ok());
  EXPECT_EQ(urls()[3], "/v2/devices?hostname=a%26b");
}

TEST_F(CyborgClientTest, ARootInTheCatalogIsExtendedToVersion2) {
  options_.session.endpoint_override = "http://cyborg:6666/accelerator/";
  make_client();
  script_login(versions("2.4"));
  transport_.then(answer(200, R"({"arqs": []})"));
  transport_.then(answer(200, R"({"devices": []})"));
  transport_.then(answer(200, R"({"deployables": []})"));
  ASSERT_TRUE(read().ok());
  EXPECT_EQ(urls()[2], "/accelerator/v2/accelerator_requests");
}

}  // namespace
}  // namespace reclaim::placement
