// One request with all it takes: login, 401, retries, and what the final status means.
#include "placement/keystone/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

using ::testing::HasSubstr;

Options small_options() {
  Options options;
  options.auth_url = "http://keystone:5000";
  options.username = "u";
  options.password = "p";
  options.default_domain_name = "Default";
  options.project_name = "service";
  return options;
}

const ApiRequest kGet{RequestKind::inventories, "/resource_providers/x/inventories", ""};
const ApiRequest kPut{RequestKind::set_inventory, "/resource_providers/x/inventories/Y", "{}",
                      Method::put};

Session some_session(std::string token = "T1") {
  return {std::move(token), "http://placement", {1, 28}, MonoMs{1'000'000}};
}

template <typename T, typename Step>
T take(Step step) {
  EXPECT_TRUE(std::holds_alternative<T>(step)) << step.index();
  return std::get<T>(std::move(step));
}

const HttpResponse kVersions =
    answer(200, R"({"versions":[{"id":"v1.0","max_version":"1.39","min_version":"1.0"}]})");

TEST(Microversion, TakesTheOneWeTestWithOrWhatThereIs) {
  const auto with = [](const std::string& max) {
    return choose_microversion(replaced(kVersions, "1.39", max), 1'000);
  };
  EXPECT_EQ(*with("1.39"), (Microversion{1, 28}));
  EXPECT_EQ(*with("1.28"), (Microversion{1, 28}));
  EXPECT_EQ(*with("1.27"), (Microversion{1, 27}));
  EXPECT_EQ(*with("1.26"), (Microversion{1, 26}));
  EXPECT_EQ(with("1.25").error().code, Errc::refused);
  EXPECT_THAT(with("1.9").error().what, HasSubstr("1.26 to 1.28"));
  EXPECT_EQ(choose_microversion(replaced(kVersions, "1.0\"", "1.30\""), 1'000).error().code,
            Errc::refused);
  for (const char* bad : {"1", "1.", ".1", "1.x", "-1.28", "1.28.1", "99999999999.1", ""}) {
    EXPECT_EQ(with(bad).error().code, Errc::invalid) << bad;
  }
  EXPECT_EQ(choose_microversion(answer(503, ""), 1'000).error().code, Errc::unavailable);
  EXPECT_EQ(choose_microversion(answer(404, ""), 1'000).error().code, Errc::invalid);
  EXPECT_EQ(choose_microversion(answer(200, "{\"versions\":[]}"), 1'000).error().code,
            Errc::invalid);
}

TEST(Login, TokenThenVersionsThenSession) {
  Login login(small_options(), std::nullopt);
  EXPECT_EQ(take<Send>(login.start()).kind, RequestKind::token);
  const auto versions = take<Send>(
      login.on_answer(recorded("keystone-30/post-auth-tokens.http"), {WallMs{}, MonoMs{500}}));
  EXPECT_EQ(versions.request.url, "http://127.0.0.1:8778/");
  for (const HttpHeader& each : versions.request.headers) EXPECT_NE(each.name, "X-Auth-Token");
  const auto session = take<Finished<Session>>(login.on_answer(kVersions, {WallMs{}, MonoMs{600}}));
  ASSERT_TRUE(session.result.ok());
  EXPECT_EQ(session.result->token, "gAAAAA-redacted");
  EXPECT_EQ(session.result->endpoint, "http://127.0.0.1:8778");
  EXPECT_EQ(session.result->microversion, (Microversion{1, 28}));
  // An hour of life, counted on our own clock, less the two minutes.
  EXPECT_EQ(session.result->renew_at.ms, 500 + 3'600'000 - 120'000);
}

TEST(Login, RenewsAShortLivedTokenAtHalfItsLife) {
  Login login(small_options(), Session{"old", "http://127.0.0.1:8778", {1, 28}, MonoMs{}});
  (void)login.start();
  const auto answer_60_s = replaced(recorded("keystone-30/post-auth-tokens.http"),
                                    "2026-11-20T13:28:31", "2026-11-20T12:29:31");
  const auto session = take<Finished<Session>>(login.on_answer(answer_60_s, {WallMs{}, MonoMs{7}}));
  EXPECT_EQ(session.result->renew_at.ms, 7 + 30'000);
  EXPECT_EQ(session.result->microversion, (Microversion{1, 28}));  // not asked for again
}

TEST(Login, AsksAgainWhetherThereIsMoreThanThereWas) {
  Login login(small_options(), Session{"old", "http://127.0.0.1:8778", {1, 27}, MonoMs{}});
  (void)login.start();
  const auto again = take<Send>(login.on_answer(recorded("keystone-30/post-auth-tokens.http"), {}));
  EXPECT_EQ(again.kind, RequestKind::versions);
}

TEST(Login, BacksOffBoundedly) {
  Options options = small_options();
  options.connect_retries = 3;
  options.connect_retry_delay_ms = 500;
  options.retry_delay_max_ms = 1'500;
  Login login(options, std::nullopt);
  (void)login.start();
  const Error refused{Errc::unavailable, "connection refused"};
  for (const int delay_ms : {500, 1'000, 1'500}) {
    EXPECT_EQ(take<Pause>(login.on_answer(refused, {})).delay_ms, delay_ms);
    (void)login.on_pause_over();
  }
  const auto over = take<Finished<Session>>(login.on_answer(refused, {}));
  EXPECT_EQ(over.result.error().code, Errc::unavailable);
  EXPECT_THAT(over.result.error().what, HasSubstr("Keystone"));
}

TEST(Login, AnUnansweredLoginIsUnavailableNotUnknown) {
  Options options = small_options();
  options.connect_retries = 0;
  Login login(options, std::nullopt);
  (void)login.start();
  const auto over = take<Finished<Session>>(login.on_answer(Error{Errc::unknown, "timeout"}, {}));
  EXPECT_EQ(over.result.error().code, Errc::unavailable);
}

TEST(Login, DoesNotRepeatRefusedCredentials) {
  Login login(small_options(), std::nullopt);
  (void)login.start();
  const auto over = take<Finished<Session>>(login.on_answer(answer(401, "{}"), {}));
  EXPECT_EQ(over.result.error().code, Errc::refused);
}

TEST(Exchange, SendsTokenAndMicroversion) {
  Exchange exchange(small_options(), kPut);
  EXPECT_EQ(take<NeedSession>(exchange.start()).rejected_token, "");
  const auto send = take<Send>(exchange.on_session(some_session()));
  EXPECT_EQ(send.request.method, "PUT");
  EXPECT_EQ(send.request.url, "http://placement/resource_providers/x/inventories/Y");
  std::string headers;
  for (const HttpHeader& each : send.request.headers) headers += each.name + "=" + each.value + ";";
  EXPECT_EQ(headers,
            "X-Auth-Token=T1;OpenStack-API-Version=placement 1.28;Accept=application/json;"
            "Content-Type=application/json;");
}

TEST(Exchange, RenewsTheTokenOnceOn401EvenForAWrite) {
  Exchange exchange(small_options(), kPut);
  (void)exchange.start();
  (void)exchange.on_session(some_session());
  const HttpResponse unauthorized = recorded("placement-16/get-unauthorized.http");
  EXPECT_EQ(take<NeedSession>(exchange.on_answer(unauthorized)).rejected_token, "T1");
  const auto again = take<Send>(exchange.on_session(some_session("T2")));
  EXPECT_EQ(again.request.headers.front().value, "T2");
  auto over = take<Finished<HttpResponse>>(exchange.on_answer(unauthorized));
  const auto meaning = triage(kPut, *std::move(over.result));
  EXPECT_EQ(meaning.error().code, Errc::refused);
  EXPECT_THAT(meaning.error().what, HasSubstr("requires authentication"));
}

TEST(Exchange, RetriesReadsBoundedly) {
  Options options = small_options();
  options.status_code_retries = 2;
  options.connect_retries = 1;
  Exchange exchange(options, kGet);
  (void)exchange.start();
  (void)exchange.on_session(some_session());
  EXPECT_EQ(take<Pause>(exchange.on_answer(answer(503, ""))).delay_ms, 500);
  (void)exchange.on_pause_over();
  (void)take<Pause>(exchange.on_answer(Error{Errc::unknown, "reset"}));
  (void)exchange.on_pause_over();
  EXPECT_EQ(take<Pause>(exchange.on_answer(answer(502, ""))).delay_ms, 1'000);
  (void)exchange.on_pause_over();
  auto over = take<Finished<HttpResponse>>(exchange.on_answer(answer(503, "")));
  EXPECT_EQ(triage(kGet, *std::move(over.result)).error().code, Errc::unavailable);
}

HttpResponse overloaded(int status, std::int64_t retry_after_s) {
  HttpResponse response = answer(status, "");
  response.retry_after_s = retry_after_s;
  return response;
}

TEST(Exchange, LeavesAServiceAloneAsLongAsItAsksButHalfAMinuteAtMost) {
  Options options = small_options();
  options.status_code_retries = 3;
  Exchange exchange(options, kGet);
  (void)exchange.start();
  (void)exchange.on_session(some_session());
  EXPECT_EQ(take<Pause>(exchange.on_answer(overloaded(503, 7))).delay_ms, 7'000);
  (void)exchange.on_pause_over();
  EXPECT_EQ(take<Pause>(exchange.on_answer(overloaded(429, 3'600))).delay_ms, 30'000);
  (void)exchange.on_pause_over();
  EXPECT_EQ(take<Pause>(exchange.on_answer(overloaded(503, 1))).delay_ms, 2'000)
      << "what it asks is the least";
  Exchange write(options, kPut);
  (void)write.start();
  (void)write.on_session(some_session());
  (void)take<Finished<HttpResponse>>(write.on_answer(overloaded(503, 7)));
}

// A write may wait for it, and what was looked at before must not grow old.
TEST(Login, IsNotPutOffForAsLongAsKeystoneAsks) {
  Login login(small_options(), std::nullopt);
  (void)login.start();
  EXPECT_EQ(take<Pause>(login.on_answer(overloaded(429, 9), {})).delay_ms, 500);
}

TEST(Exchange, AReadThatNeverCameIsUnavailable) {
  Options options = small_options();
  options.connect_retries = 0;
  Exchange exchange(options, kGet);
  (void)exchange.start();
  (void)exchange.on_session(some_session());
  const auto over = take<Finished<HttpResponse>>(exchange.on_answer(Error{Errc::unknown, "t"}));
  EXPECT_EQ(over.result.error().code, Errc::unavailable);
}

TEST(Exchange, NeverRepeatsAWrite) {
  const auto outcome = [](Result<HttpResponse> came) {
    Exchange exchange(small_options(), kPut);
    (void)exchange.start();
    (void)exchange.on_session(some_session());
    auto over = take<Finished<HttpResponse>>(exchange.on_answer(std::move(came)));
    if (!over.result.ok()) return over.result.error().code;
    auto meaning = triage(kPut, *std::move(over.result));
    return meaning.ok() ? Errc::failed : meaning.error().code;
  };
  EXPECT_EQ(outcome(Error{Errc::unavailable, "refused"}), Errc::unavailable);
  EXPECT_EQ(outcome(Error{Errc::unknown, "timeout"}), Errc::unknown);
  // The answer was too long to read, so the request had been carried out.
  EXPECT_EQ(outcome(Error{Errc::limit, "too long"}), Errc::unknown);
  EXPECT_EQ(outcome(Error{Errc::limit, "queue", HttpTransport::kNotSent}), Errc::limit);
  for (const int status : {500, 502, 503, 504, 408}) {
    EXPECT_EQ(outcome(answer(status, "")), Errc::unknown) << status;
  }
  EXPECT_EQ(outcome(answer(429, "")), Errc::unavailable);
}

TEST(Triage, ReadsTheRecordedErrors) {
  const auto conflict = triage(kPut, recorded("placement-16/put-inventory-stale-generation.http"));
  EXPECT_EQ(conflict.error().code, Errc::conflict);
  EXPECT_EQ(conflict.error().raw, 409);
  EXPECT_THAT(conflict.error().what,
              AllOf(HasSubstr("resource provider generation conflict"), HasSubstr("req-8595cc65")));
  const auto gone = triage(kGet, recorded("placement-16/get-provider-not-found.http"));
  EXPECT_EQ(gone.error().code, Errc::not_found);
  const auto version = triage(kGet, recorded("placement-16/get-bad-microversion.http"));
  EXPECT_EQ(version.error().code, Errc::invalid);
  EXPECT_THAT(version.error().what, HasSubstr("at most microversion 1.39"));
  const auto body = triage(kPut, recorded("placement-16/put-inventory-bad-body.http"));
  EXPECT_EQ(body.error().code, Errc::refused);
  EXPECT_LT(body.error().what.size(), 1'000U);
}

TEST(Triage, KnowsTheOthers) {
  const auto code = [](int status, const std::string& body) {
    return triage(kGet, answer(status, body)).error().code;
  };
  EXPECT_EQ(code(409, R"({"errors":[{"code":"placement.inventory.inuse"}]})"), Errc::refused);
  EXPECT_EQ(code(409, "<html>"), Errc::refused);
  EXPECT_EQ(code(403, R"({"errors":[{"detail":"Policy does not allow"}]})"), Errc::refused);
  EXPECT_THAT(triage(kGet, answer(403, "")).error().what, HasSubstr("role admin or service"));
  EXPECT_EQ(code(302, ""), Errc::invalid);
  EXPECT_EQ(code(500, ""), Errc::unavailable);
  EXPECT_EQ(code(418, ""), Errc::refused);
  EXPECT_TRUE(triage(kGet, answer(204, "")).ok());
}

}  // namespace
}  // namespace reclaim::placement
