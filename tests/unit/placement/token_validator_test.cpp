// Whose token it is: what is sent, what is remembered and for how long, and what is never sent.
#include "placement/keystone/token_validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kHourMs = 3'600'000;

// Keystone's answer to a question about a token that lives until `expires_at`.
HttpResponse subject(WallMs expires_at,
                     const std::string& roles = R"({"id": "1", "name": "admin"})",
                     const std::string& user = "alice") {
  return answer(200, R"({"token": {"methods": ["password"], "user": {"id": ")" + user +
                         R"(-id", "name": ")" + user +
                         R"(", "domain": {"id": "default", "name": "Default"}},
    "project": {"id": "p-id", "name": "demo", "domain": {"id": "other", "name": "Other"}},
    "roles": [)" + roles +
                         R"(], "issued_at": "2023-11-14T22:00:00.000000Z",
    "expires_at": ")" + to_iso8601(expires_at) +
                         R"("}})");
}
constexpr const char* kService = R"({"id": "2", "name": "service"})";

class RecordingLogger final : public Logger {
 public:
  std::string text;
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view message,
             std::initializer_list<LogField> /*fields*/) override {
    text += std::string(message) + "\n";
  }
};

class TokenValidatorTest : public ::testing::Test {
 protected:
  TokenValidatorTest() {
    options_.session.auth_url = "http://keystone:5000";
    options_.session.username = "u";
    options_.session.password = "p";
    options_.session.default_domain_name = "Default";
    options_.session.project_name = "service";
    options_.session.connect_retries = 0;
    options_.session.status_code_retries = 0;
    make_validator();
  }
  void make_validator() {
    validator_.reset();
    auto made = TokenValidator::create(options_, {transport_, timers_, clock_, logger_});
    ASSERT_TRUE(made.ok()) << made.error().what;
    validator_ = *std::move(made);
  }
  void script_login() { transport_.then(recorded("keystone-30/post-auth-tokens.http")); }
  void run() {
    while (timers_.wake_one() || transport_.deliver()) {
    }
  }
  // Begins a validation; its result is results_[i] once it is there.
  std::size_t ask(const std::string& token, const std::string& service_token = "") {
    const std::size_t at = results_.size();
    results_.emplace_back();
    validator_->validate(token, service_token, [this, at](Result<Identity> identity) {
      EXPECT_FALSE(results_[at].has_value()) << "called twice";
      results_[at] = std::move(identity);
    });
    EXPECT_FALSE(results_[at].has_value()) << "called at once";
    return at;
  }
  Result<Identity> validate(const std::string& token, const std::string& service_token = "") {
    const std::size_t at = ask(token, service_token);
    run();
    return results_[at] ? *results_[at] : Result<Identity>(Error{Errc::failed, "never called"});
  }
  // The subjects of the requests sent since the last time, with what else was asked.
  std::vector<std::string> asked() {
    std::vector<std::string> all;
    for (const HttpRequest& each : transport_.sent) {
      for (const HttpHeader& header : each.headers) {
        if (header.name != "X-Subject-Token") continue;
        const bool expired_too = each.url.find("allow_expired=1") != std::string::npos;
        all.push_back(header.value + (expired_too ? "+" : ""));
      }
    }
    transport_.sent.clear();
    return all;
  }
  WallMs in(std::int64_t ms) const { return WallMs{clock_.at.wall.ms + ms}; }

  TokenOptions options_;
  ScriptedTransport transport_;
  InstantTimers timers_;
  SetClock clock_;
  RecordingLogger logger_;
  std::vector<std::optional<Result<Identity>>> results_;
  std::unique_ptr<TokenValidator> validator_;
};

TEST_F(TokenValidatorTest, AsksKeystoneWithATokenOfOurs) {
  script_login();
  transport_.then(subject(in(kHourMs)));
  const auto identity = validate("T1");
  ASSERT_TRUE(identity.ok()) << identity.error().what;
  EXPECT_EQ(identity->user_id, "alice-id");
  EXPECT_EQ(identity->user_name, "alice");
  EXPECT_EQ(identity->user_domain_id, "default");
  EXPECT_EQ(identity->project_id, "p-id");
  EXPECT_EQ(identity->project_name, "demo");
  EXPECT_EQ(identity->project_domain_id, "other");
  EXPECT_THAT(identity->roles, ElementsAre("admin"));
  EXPECT_TRUE(identity->service_roles.empty());
  ASSERT_EQ(transport_.sent.size(), 2U);
  const HttpRequest& request = transport_.sent[1];
  // Of the catalog's identity endpoint, whatever the login's URL was.
  EXPECT_EQ(request.url, "http://127.0.0.1:5000/v3/auth/tokens?nocatalog");
  EXPECT_EQ(request.method, "GET");
  std::string headers;
  for (const HttpHeader& each : request.headers) headers += each.name + "=" + each.value + " ";
  EXPECT_EQ(headers, "X-Auth-Token=gAAAAA-redacted Accept=application/json X-Subject-Token=T1 ");
}

TEST_F(TokenValidatorTest, WhatCannotBeATokenIsNeverSent) {
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\r\nX-Roles: admin"), std::string("a\nb"),
        std::string("a\0b", 3), std::string("tok\xc3\xa9n"), std::string("a:b"),
        std::string(kTokenBytesMax + 1, 'x')}) {
    const auto refused = validate(bad);
    EXPECT_EQ(refused.error().code, Errc::refused);
    if (bad.empty()) continue;  // no service token
    EXPECT_THAT(refused.error().what, Not(HasSubstr(bad)));
    EXPECT_EQ(validate("good", bad).error().code, Errc::refused);
  }
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(TokenValidatorTest, RemembersAGoodTokenForAWhile) {
  script_login();
  transport_.then(subject(in(kHourMs)));
  ASSERT_TRUE(validate("T1").ok());
  clock_.at.mono.ms += options_.cache_time_ms - 1;
  EXPECT_EQ(validate("T1")->user_name, "alice");
  EXPECT_EQ(asked().size(), 1U);
  clock_.at.mono.ms += 1;
  transport_.then(subject(in(kHourMs)));
  ASSERT_TRUE(validate("T1").ok());
  EXPECT_THAT(asked(), ElementsAre("T1"));
}

TEST_F(TokenValidatorTest, AskedEachTimeWithoutACacheTime) {
  options_.cache_time_ms = 0;
  make_validator();
  script_login();
  for (int i = 0; i < 2; ++i) {
    transport_.then(subject(in(kHourMs)));
    EXPECT_TRUE(validate("T1").ok());
  }
  EXPECT_EQ(asked().size(), 2U);
}

TEST_F(TokenValidatorTest, NeverBeyondItsExpiryByEitherClock) {
  script_login();
  transport_.then(subject(in(60'000)));
  ASSERT_TRUE(validate("T1").ok());
  asked();
  // The wall clock is set: the expiry is past, though no time has passed.
  clock_.at.wall.ms += 60'000;
  transport_.then(answer(404, ""));
  EXPECT_EQ(validate("T1").error().code, Errc::refused);
  EXPECT_THAT(asked(), ElementsAre("T1"));
  // And set back: the time has passed all the same.
  transport_.then(subject(in(60'000)));
  ASSERT_TRUE(validate("T2").ok());
  asked();
  clock_.at.wall.ms -= kHourMs;
  clock_.at.mono.ms += 60'000;
  transport_.then(answer(404, ""));
  EXPECT_EQ(validate("T2").error().code, Errc::refused);
  EXPECT_THAT(asked(), ElementsAre("T2"));
}

TEST_F(TokenValidatorTest, AnExpiredTokenIsRefusedWhateverKeystoneSays) {
  script_login();
  transport_.then(subject(in(0)));
  const auto expired = validate("T1");
  EXPECT_EQ(expired.error().code, Errc::refused);
  EXPECT_THAT(expired.error().what, HasSubstr("expired at"));
}

TEST_F(TokenValidatorTest, RefusedForAMomentWithoutAskingAgain) {
  script_login();
  transport_.then(answer(404, R"({"error": {"message": "Could not find token"}})"));
  EXPECT_EQ(validate("bad").error().code, Errc::refused);
  EXPECT_EQ(validate("bad").error().code, Errc::refused);
  EXPECT_EQ(asked().size(), 1U);
  clock_.at.mono.ms += options_.refused_time_ms;
  transport_.then(subject(in(kHourMs)));
  EXPECT_TRUE(validate("bad").ok());
}

TEST_F(TokenValidatorTest, AFloodOfBadTokensPushesOutNoGoodOne) {
  options_.refused_max = 3;
  options_.good_max = 1;
  make_validator();
  script_login();
  transport_.then(subject(in(kHourMs)));
  ASSERT_TRUE(validate("good").ok());
  for (int i = 0; i < 10; ++i) {
    transport_.then(answer(404, ""));
    EXPECT_FALSE(validate("bad" + std::to_string(i)).ok());
  }
  asked();
  EXPECT_TRUE(validate("good").ok());
  EXPECT_FALSE(validate("bad9").ok());
  EXPECT_TRUE(asked().empty());
  transport_.then(answer(404, ""));
  EXPECT_FALSE(validate("bad0").ok());
  EXPECT_THAT(asked(), ElementsAre("bad0"));
}

TEST_F(TokenValidatorTest, CallersWithOneTokenShareOneRequest) {
  for (int i = 0; i < 5; ++i) ask("T1");
  script_login();
  transport_.then(subject(in(kHourMs)));
  run();
  for (const auto& each : results_) EXPECT_TRUE(each->ok());
  EXPECT_THAT(asked(), ElementsAre("T1"));
}

TEST_F(TokenValidatorTest, OnlySoManyAreAskedAboutAtOnceAndOnlySoManyWait) {
  options_.in_flight_max = 2;
  options_.waiting_max = 3;
  make_validator();
  script_login();
  transport_.then(subject(in(kHourMs)));
  ASSERT_TRUE(validate("first").ok());  // the login is over
  asked();
  results_.clear();
  for (const char* token : {"A", "B", "C"}) ask(token);
  const std::size_t over = ask("D");
  while (timers_.wake_one()) {
  }
  EXPECT_EQ(results_[over]->error().code, Errc::unavailable);
  EXPECT_EQ(transport_.outstanding(), 2U);
  for (int i = 0; i < 3; ++i) transport_.then(subject(in(kHourMs)));
  EXPECT_TRUE(transport_.deliver());
  EXPECT_EQ(transport_.outstanding(), 2U);  // the third took the place
  run();
  EXPECT_THAT(asked(), ElementsAre("A", "B", "C"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(results_[i]->ok()) << i;
}

TEST_F(TokenValidatorTest, OnlySoManyCallersWait) {
  options_.callers_max = 2;
  make_validator();
  ask("T1");
  ask("T1");
  ask("T1");
  script_login();
  transport_.then(subject(in(kHourMs)));
  run();
  EXPECT_TRUE(results_[0]->ok());
  EXPECT_TRUE(results_[1]->ok());
  EXPECT_EQ(results_[2]->error().code, Errc::unavailable);
  transport_.then(subject(in(kHourMs)));
  EXPECT_TRUE(validate("T2").ok());  // nobody waits any more
}

TEST_F(TokenValidatorTest, ATroubleOfOursIsNeverTheCallersFault) {
  transport_.then(answer(401, R"({"error": {"message": "wrong password"}})"));
  EXPECT_EQ(validate("T1").error().code, Errc::unavailable);
  transport_.then(Error{Errc::unavailable, "connection refused"});
  EXPECT_EQ(validate("T1").error().code, Errc::unavailable);
  script_login();
  transport_.then(answer(503, ""));
  EXPECT_EQ(validate("T1").error().code, Errc::unavailable);
  transport_.then(answer(403, R"({"error": {"message": "not allowed"}})"));
  const auto forbidden = validate("T1");
  EXPECT_EQ(forbidden.error().code, Errc::unavailable);
  EXPECT_THAT(forbidden.error().what, HasSubstr("role admin or service"));
  transport_.then(Error{Errc::unknown, "reset"});
  EXPECT_EQ(validate("T1").error().code, Errc::unavailable);
  for (const char* no_answer : {"<html>", "{}", R"({"token": {"expires_at": "never"}})",
                                R"({"token": {"expires_at": "2030-01-01T00:00:00Z"}})"}) {
    transport_.then(answer(200, no_answer));
    EXPECT_EQ(validate("T1").error().code, Errc::unavailable) << no_answer;
  }
  transport_.then(subject(in(kHourMs)));
  EXPECT_TRUE(validate("T1").ok());  // and none of it is remembered
  EXPECT_EQ(asked().size(), 8U);
}

TEST_F(TokenValidatorTest, LogsInOnceMoreWhenOurOwnTokenIsRefused) {
  script_login();
  transport_.then(subject(in(kHourMs)));
  ASSERT_TRUE(validate("T1").ok());
  transport_.then(answer(401, ""));
  script_login();
  transport_.then(subject(in(kHourMs), R"({"name": "reader"})", "bob"));
  EXPECT_EQ(validate("T2")->user_name, "bob");
  EXPECT_THAT(asked(), ElementsAre("T1", "T2", "T2"));
}

TEST_F(TokenValidatorTest, RefusedWithATokenOfOursThatIsNewItIsTheCallersThatIsMeant) {
  script_login();
  transport_.then(answer(401, ""));
  script_login();
  transport_.then(answer(401, ""));
  EXPECT_EQ(validate("T1").error().code, Errc::refused);
  EXPECT_TRUE(transport_.all_played());
}

TEST_F(TokenValidatorTest, AServiceTokenLetsAnExpiredOnePass) {
  script_login();
  transport_.then(subject(in(kHourMs), kService, "nova"));
  transport_.then(subject(in(-5'000)));
  const auto identity = validate("user", "service");
  ASSERT_TRUE(identity.ok()) << identity.error().what;
  EXPECT_EQ(identity->user_name, "alice");
  EXPECT_THAT(identity->roles, ElementsAre("admin"));
  EXPECT_THAT(identity->service_roles, ElementsAre("service"));
  EXPECT_THAT(asked(), ElementsAre("service", "user+"));
  // Remembered for those with a service token, and for nobody else.
  EXPECT_TRUE(validate("user", "service").ok());
  EXPECT_TRUE(asked().empty());
  transport_.then(answer(404, ""));
  EXPECT_EQ(validate("user").error().code, Errc::refused);
  EXPECT_THAT(asked(), ElementsAre("user"));
  // Nor does a refusal of one without a service token stand in the way of one with it.
  transport_.then(answer(404, ""));
  EXPECT_FALSE(validate("late").ok());
  transport_.then(subject(in(-5'000)));
  EXPECT_TRUE(validate("late", "service").ok());
  EXPECT_THAT(asked(), ElementsAre("late", "late+"));
}

TEST_F(TokenValidatorTest, AServiceTokenThatIsNoneIsRefused) {
  script_login();
  transport_.then(answer(404, ""));
  const auto bad = validate("user", "bad");
  EXPECT_EQ(bad.error().code, Errc::refused);
  EXPECT_THAT(bad.error().what, HasSubstr("X-Service-Token"));
  transport_.then(subject(in(kHourMs), R"({"name": "member"}, {"name": "Service"})"));
  const auto no_role = validate("user", "member");
  EXPECT_EQ(no_role.error().code, Errc::refused);
  EXPECT_THAT(no_role.error().what, HasSubstr("service_token_roles"));
  EXPECT_THAT(asked(), ElementsAre("bad", "member"));  // the user's was never asked about
  transport_.then(subject(in(-1), kService, "nova"));
  EXPECT_EQ(validate("user", "expired").error().code, Errc::refused);
}

TEST_F(TokenValidatorTest, WhereTheRoleIsNotRequiredItStillTakesOneForAnExpiredToken) {
  options_.service_token_roles_required = false;
  make_validator();
  script_login();
  transport_.then(subject(in(kHourMs), R"({"name": "member"})"));
  transport_.then(subject(in(kHourMs)));
  const auto identity = validate("user", "member");
  ASSERT_TRUE(identity.ok()) << identity.error().what;
  EXPECT_THAT(identity->service_roles, ElementsAre("member"));
  EXPECT_THAT(asked(), ElementsAre("member", "user"));
}

TEST_F(TokenValidatorTest, ScopesThatAreNoProject) {
  script_login();
  transport_.then(replaced(subject(in(kHourMs)), "\"project\": {", "\"system\": {\"all\": true, "));
  const auto of_system = validate("S");
  EXPECT_EQ(of_system->system_scope, "all");
  EXPECT_EQ(of_system->project_id, "");
  transport_.then(replaced(replaced(subject(in(kHourMs)), "\"project\": {", "\"x\": {"),
                           "\"roles\": [", R"("domain": {"id": "d1"}, "roles": [)"));
  const auto of_domain = validate("D");
  EXPECT_EQ(of_domain->domain_id, "d1");
  EXPECT_EQ(of_domain->system_scope, "");
}

// As Keystone shows one of a trust with impersonation: the user is the one who delegated.
TEST_F(TokenValidatorTest, ATokenThatWasDelegatedIsTold) {
  script_login();
  transport_.then(subject(in(kHourMs)));
  EXPECT_FALSE(validate("own")->delegated);
  for (const std::string member :
       {R"("OS-TRUST:trust": {"id": "t", "impersonation": true, "trustee_user": {"id": "bob-id"}})",
        R"("OS-OAUTH1": {"access_token_id": "a", "consumer_id": "c"})"}) {
    transport_.then(
        replaced(subject(in(kHourMs)), "\"roles\": [", (member + ", \"roles\": [").c_str()));
    EXPECT_TRUE(validate(member.substr(1, 8))->delegated) << member;
  }
  // An EC2 pair is one that an admin makes for anybody.
  int tokens = 0;
  for (const std::string methods :
       {R"(["application_credential", "token"])", R"(["ec2credential"])", R"(["token"])",
        R"(["of-a-plugin"])", "[]", R"("password")"}) {
    transport_.then(replaced(subject(in(kHourMs)), R"(["password"])", methods.c_str()));
    EXPECT_TRUE(validate("by" + std::to_string(++tokens))->delegated) << methods;
  }
  for (const std::string methods : {R"(["password", "totp"])", R"(["mapped", "token"])"}) {
    transport_.then(replaced(subject(in(kHourMs)), R"(["password"])", methods.c_str()));
    EXPECT_FALSE(validate("by" + std::to_string(++tokens))->delegated) << methods;
  }
}

TEST_F(TokenValidatorTest, NoTokenStandsInTheLogOrInAnError) {
  const std::string secret = "gAAAAsecretsecretsecret";
  script_login();
  transport_.then(answer(500, R"({"error": {"message": "broken"}})"));
  std::string words = validate(secret).error().what;
  transport_.then(answer(404, ""));
  words += validate(secret).error().what;
  transport_.then(Error{Errc::unknown, "reset"});
  words += validate(secret + "2").error().what;
  EXPECT_THAT(words + logger_.text, Not(HasSubstr(secret)));
  EXPECT_THAT(logger_.text, HasSubstr("cannot be validated"));
}

TEST_F(TokenValidatorTest, CallersAreDroppedWithIt) {
  ask("T1");
  validator_.reset();
  run();
  EXPECT_FALSE(results_[0].has_value());
}

TEST_F(TokenValidatorTest, RefusesOptionsThatCannotWork) {
  options_.in_flight_max = 0;
  EXPECT_EQ(TokenValidator::create(options_, {transport_, timers_, clock_, logger_}).error().code,
            Errc::invalid);
}

}  // namespace
}  // namespace reclaim::placement
