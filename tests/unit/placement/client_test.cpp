// The client as a whole over a scripted transport: one login for all, who waits for whom, and how
// many requests a flow takes.
#include "placement/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

constexpr const char* kProvider = "e562c0c8-db6a-4852-a551-284cb71543d2";
constexpr const char* kOther = "17652caa-28dd-4ccb-8350-6e134c33e9bd";

HttpResponse token(const std::string& id) {
  HttpResponse response = recorded("keystone-30/post-auth-tokens.http");
  for (HttpHeader& each : response.headers) {
    if (each.name == "X-Subject-Token") each.value = id;
  }
  return response;
}

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    options_.auth_url = "http://keystone:5000";
    options_.username = "u";
    options_.password = "p";
    options_.default_domain_name = "Default";
    options_.project_name = "service";
    options_.root_provider_names = {"compute-2"};
    make_client();
  }

  void make_client() {
    client_.reset();
    auto created = Client::create(options_, transport_, timers_, clock_, logger_);
    ASSERT_TRUE(created.ok()) << created.error().what;
    client_ = *std::move(created);
  }

  void script_login(const std::string& id) {
    transport_.then(token(id));
    transport_.then(
        answer(200, R"({"versions":[{"id":"v1.0","max_version":"1.39","min_version":"1.0"}]})"));
  }

  void run() {
    while (timers_.wake_one() || transport_.deliver()) {
    }
  }

  std::string token_of(std::size_t request) const {
    for (const HttpHeader& each : transport_.sent[request].headers) {
      if (each.name == "X-Auth-Token") return each.value;
    }
    return "";
  }

  template <typename T>
  Callback<T> into(std::optional<Result<T>>& slot) {
    return [&slot](Result<T> result) {
      EXPECT_FALSE(slot.has_value()) << "called twice";
      slot = std::move(result);
    };
  }

  Options options_;
  ScriptedTransport transport_;
  InstantTimers timers_;
  SetClock clock_;
  NullLogger logger_;
  std::unique_ptr<Client> client_;
};

using View = std::optional<Result<ProviderView>>;

class NotingLogger final : public Logger {
 public:
  std::vector<std::string> warnings;
  void write(LogLevel level, std::string_view /*name*/, std::string_view text,
             std::initializer_list<LogField> /*fields*/) override {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  }
};

TEST_F(ClientTest, SaysOnceWhichTraitsPlacementDoesNotKnow) {
  NotingLogger noting;
  client_ = *Client::create(options_, transport_, timers_, clock_, noting);
  script_login("T1");
  const std::string row = std::string(R"({"resource_providers": [{"uuid": ")") + kProvider +
                          R"(", "name": "n", "generation": 0, "parent_provider_uuid": ")" + kOther +
                          R"(", "root_provider_uuid": ")" + kOther + "\"}]}";
  for (int drive = 0; drive < 2; ++drive) {
    transport_.then(answer(200, R"({"traits": ["OWNER_CYBORG"]})"));
    transport_.then(answer(200, row));
    transport_.then(
        answer(200, R"({"traits": ["OWNER_CYBORG"], "resource_provider_generation": 15})"));
    for (int read = 0; read < 2; ++read) transport_.then(inventories(15, 1));
    transport_.then(allocations(15));
    View view;
    client_->register_device(
        {kProvider, "n", kOther, "CUSTOM_PCI_1B36_0010", {"OWNER_CYBORG", "HW_NVME_CES"}},
        into(view));
    run();
    ASSERT_TRUE(view->ok()) << view->error().what;
    EXPECT_TRUE((*view)->burned());
  }
  ASSERT_EQ(noting.warnings.size(), 1U);
  EXPECT_NE(noting.warnings.front().find("HW_NVME_CES"), std::string::npos);
  EXPECT_EQ(client_->counts().of(RequestKind::register_device), 8U);
  client_.reset();  // before its logger
}

TEST_F(ClientTest, RefusesOptionsThatCannotWork) {
  options_.password.clear();
  const auto created = Client::create(options_, transport_, timers_, clock_, logger_);
  EXPECT_EQ(created.error().code, Errc::invalid);
}

TEST_F(ClientTest, CallsBackLaterEvenForWhatItRefusesAtOnce) {
  View view;
  client_->read("no uuid", into(view));
  EXPECT_FALSE(view.has_value());
  run();
  EXPECT_EQ(view->error().code, Errc::invalid);
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(ClientTest, OneLoginHoweverManyWait) {
  View first;
  View second;
  client_->read(kProvider, into(first));
  client_->read(kOther, into(second));
  while (timers_.wake_one()) {
  }
  EXPECT_EQ(transport_.outstanding(), 1U);
  script_login("T1");
  transport_.then(inventories(15, 1));
  transport_.then(inventories(15, 1));
  transport_.then(allocations(15));
  transport_.then(allocations(15));
  run();
  EXPECT_TRUE(first->ok());
  EXPECT_TRUE(second->ok());
  EXPECT_EQ(client_->counts().of(RequestKind::token), 1U);
  EXPECT_EQ(client_->counts().of(RequestKind::versions), 1U);
  EXPECT_EQ(client_->counts().placement(), 5U);
}

TEST_F(ClientTest, AFailedLoginFailsAllWhoWaitAndTheNextOneTriesAgain) {
  options_.connect_retries = 1;
  make_client();
  View first;
  View second;
  client_->read(kProvider, into(first));
  client_->read(kOther, into(second));
  transport_.then(Error{Errc::unavailable, "connection refused"});
  transport_.then(Error{Errc::unavailable, "connection refused"});
  run();
  EXPECT_EQ(first->error().code, Errc::unavailable);
  EXPECT_EQ(second->error().code, Errc::unavailable);
  // And up to half as long again, which keeps the hosts of a fleet apart.
  using ::testing::AllOf, ::testing::Ge, ::testing::Le;
  EXPECT_THAT(timers_.delays_ms, ::testing::ElementsAre(AllOf(Ge(500), Le(750))));
  script_login("T1");
  transport_.then(inventories(15, 1));
  transport_.then(allocations(15));
  View third;
  client_->read(kProvider, into(third));
  run();
  EXPECT_TRUE(third->ok());
}

TEST_F(ClientTest, RenewsTheTokenBeforeItExpires) {
  script_login("T1");
  transport_.then(inventories(15, 1));
  transport_.then(allocations(15));
  View view;
  client_->read(kProvider, into(view));
  run();
  EXPECT_EQ(token_of(2), "T1");
  clock_.at.mono.ms += 3'600'000 - 120'000;  // 120 s remain: exactly when it is renewed
  transport_.then(token("T2"));
  transport_.then(inventories(15, 1));
  transport_.then(allocations(15));
  view.reset();
  client_->read(kProvider, into(view));
  run();
  EXPECT_TRUE(view->ok());
  EXPECT_EQ(token_of(5), "T2");
  EXPECT_EQ(client_->counts().of(RequestKind::versions), 1U);
}

TEST_F(ClientTest, TwoRefusedRequestsShareOneRenewal) {
  script_login("T1");
  transport_.then(inventories(15, 1));
  transport_.then(allocations(15));
  View warm;
  client_->read(kProvider, into(warm));
  run();
  const HttpResponse unauthorized = recorded("placement-16/get-unauthorized.http");
  transport_.then(unauthorized);
  transport_.then(unauthorized);
  transport_.then(token("T2"));
  transport_.then(inventories(15, 1));
  transport_.then(inventories(15, 1));
  transport_.then(allocations(15));
  transport_.then(allocations(15));
  View first;
  View second;
  client_->read(kProvider, into(first));
  client_->read(kOther, into(second));
  run();
  EXPECT_TRUE(first->ok());
  EXPECT_TRUE(second->ok());
  EXPECT_EQ(client_->counts().of(RequestKind::token), 2U);
}

TEST_F(ClientTest, A401InTheMiddleOfARelease) {
  script_login("T1");
  transport_.then(recorded("placement-16/get-unauthorized.http"));
  transport_.then(token("T2"));
  transport_.then(recorded("placement-16/put-inventory-ok.http"));
  transport_.then(inventories(16, 0));
  View released;
  const ProviderView view{kProvider, 15, {{"CUSTOM_PCI_1B36_0010", 1, 1, 1, 1, 1, 1.0}}, {}};
  client_->set_reserved(view, 0, into(released));
  run();
  ASSERT_TRUE(released->ok());
  EXPECT_EQ(client_->counts().of(RequestKind::set_inventory), 2U);
  EXPECT_EQ(transport_.sent[2].body, transport_.sent[4].body);
}

TEST_F(ClientTest, AnOutageOfKeystoneLeavesAWriteUndoneNotUnknown) {
  options_.connect_retries = 0;
  make_client();
  transport_.then(Error{Errc::unknown, "timeout"});
  View released;
  const ProviderView view{kProvider, 15, {{"CUSTOM_PCI_1B36_0010", 1, 1, 1, 1, 1, 1.0}}, {}};
  client_->set_reserved(view, 0, into(released));
  run();
  EXPECT_EQ(released->error().code, Errc::unavailable);
}

TEST_F(ClientTest, RemembersTheRoot) {
  HttpResponse tree = recorded("placement-16/get-root.http");
  script_login("T1");
  std::optional<Result<Tree>> listed;
  transport_.then(tree);
  transport_.then(tree);
  transport_.then(answer(200, R"({"resource_providers": []})"));
  client_->list_tree(into(listed));
  run();
  ASSERT_TRUE(listed->ok());
  const auto before = client_->counts().placement();
  listed.reset();
  transport_.then(tree);
  transport_.then(answer(200, R"({"resource_providers": []})"));
  client_->list_tree(into(listed));
  run();
  ASSERT_TRUE(listed->ok());
  EXPECT_EQ(client_->counts().placement() - before, 2U);
  EXPECT_EQ(client_->counts().of(RequestKind::find_root), 1U);
}

TEST_F(ClientTest, ACallbackMayDestroyTheClient) {
  View first;
  std::optional<Result<ProviderView>> second;
  client_->read(kProvider, [&](Result<ProviderView> result) {
    first = std::move(result);
    client_.reset();
  });
  client_->read(kOther, into(second));
  transport_.then(answer(401, "{}"));
  run();
  EXPECT_EQ(first->error().code, Errc::refused);
  EXPECT_FALSE(second.has_value());
}

TEST_F(ClientTest, LogsInForTheDoctor) {
  script_login("T1");
  std::optional<Result<LoginFacts>> facts;
  client_->log_in(into(facts));
  run();
  ASSERT_TRUE(facts->ok());
  EXPECT_EQ((*facts)->endpoint, "http://127.0.0.1:8778");
  EXPECT_EQ((*facts)->microversion, "1.28");
}

}  // namespace
}  // namespace reclaim::placement
