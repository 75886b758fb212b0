// Asking Keystone for a token, reading its answer, finding Placement in its catalog.
#include "placement/keystone/keystone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/http/url.h"
#include "state/base/json.h"
#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kBytesMax = 1 << 20;

Options password_options() {
  Options options;
  options.auth_url = "http://keystone:5000";
  options.username = "placement";
  options.password = "s3cret\"\\";
  options.user_domain_name = "Default";
  options.project_name = "service";
  options.project_domain_name = "Default";
  return options;
}

TEST(KeystoneRequest, AsksWithPasswordForAProject) {
  const auto request = token_request(password_options());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->url, "http://keystone:5000/v3/auth/tokens");
  EXPECT_EQ(request->body,
            R"({"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"placement",)"
            R"("domain":{"name":"Default"},"password":"s3cret\"\\"}}},"scope":{"project":)"
            R"({"name":"service","domain":{"name":"Default"}}}}})");
}

TEST(KeystoneRequest, PutsIdsBeforeNamesAndKnowsDefaultDomains) {
  Options options = password_options();
  options.user_id = "u1";
  options.project_domain_name.clear();
  options.default_domain_id = "default";
  ASSERT_TRUE(check_options(options).ok());
  EXPECT_EQ(token_request(options)->body,
            R"({"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"u1",)"
            R"("password":"s3cret\"\\"}}},"scope":{"project":{"name":"service","domain":)"
            R"({"id":"default"}}}}})");
}

TEST(KeystoneRequest, ScopesToDomainOrSystem) {
  Options options = password_options();
  options.project_name.clear();
  options.domain_name = "Default";
  EXPECT_THAT(token_request(options)->body, HasSubstr(R"("scope":{"domain":{"name":"Default"}})"));
  options.domain_name.clear();
  options.system_scope = "all";
  EXPECT_THAT(token_request(options)->body, HasSubstr(R"("scope":{"system":{"all":true}})"));
  options.system_scope.clear();
  EXPECT_THAT(token_request(options)->body, Not(HasSubstr("scope")));
}

TEST(KeystoneRequest, UsesApplicationCredentialsWithoutScope) {
  Options options;
  options.auth_type = "v3applicationcredential";
  options.auth_url = "https://keystone/identity/v3/";
  options.application_credential_id = "ac1";
  options.application_credential_secret = "shh";
  options.project_name = "ignored, the credential has its own";
  ASSERT_TRUE(check_options(options).ok());
  const auto request = token_request(options);
  EXPECT_EQ(request->url, "https://keystone/identity/v3/auth/tokens");
  EXPECT_EQ(request->body, R"({"auth":{"identity":{"methods":["application_credential"],)"
                           R"("application_credential":{"id":"ac1","secret":"shh"}}}})");
  options.application_credential_id.clear();
  options.application_credential_name = "reclaim";
  EXPECT_FALSE(check_options(options).ok());
  options.username = "reclaim";
  options.user_domain_id = "default";
  ASSERT_TRUE(check_options(options).ok());
  EXPECT_THAT(token_request(options)->body,
              HasSubstr(R"("name":"reclaim","user":{"name":"reclaim","domain":{"id":"default"}})"));
}

TEST(KeystoneOptions, NamesWhatIsWrong) {
  const auto text_of = [](auto change) {
    Options options = password_options();
    change(options);
    const auto status = check_options(options);
    return status.ok() ? std::string("accepted") : status.error().what;
  };
  EXPECT_EQ(text_of([](Options&) {}), "accepted");
  EXPECT_THAT(text_of([](Options& o) { o.auth_type = "v3oidc"; }), HasSubstr("auth_type"));
  EXPECT_THAT(text_of([](Options& o) { o.auth_url = ""; }), HasSubstr("auth_url"));
  EXPECT_THAT(text_of([](Options& o) { o.auth_url = "ftp://x"; }), HasSubstr("http"));
  EXPECT_THAT(text_of([](Options& o) { o.password = ""; }), HasSubstr("password"));
  EXPECT_THAT(text_of([](Options& o) { o.username = ""; }), HasSubstr("username"));
  EXPECT_THAT(text_of([](Options& o) { o.user_domain_name = ""; }), HasSubstr("user_domain_name"));
  EXPECT_THAT(text_of([](Options& o) { o.project_domain_name = ""; }),
              HasSubstr("project_domain_name"));
  EXPECT_THAT(text_of([](Options& o) { o.system_scope = "all"; }), HasSubstr("more than one"));
  EXPECT_THAT(text_of([](Options& o) { o.system_scope = "some"; }), HasSubstr("'some'"));
  EXPECT_THAT(text_of([](Options& o) { o.valid_interfaces = {"inside"}; }), HasSubstr("'inside'"));
  EXPECT_THAT(text_of([](Options& o) { o.valid_interfaces = {}; }), HasSubstr("valid_interfaces"));
  EXPECT_THAT(text_of([](Options& o) { o.endpoint_override = "x"; }),
              HasSubstr("endpoint_override"));
  EXPECT_THAT(text_of([](Options& o) { o.timeout_ms = 0; }), HasSubstr("timeout is 0"));
  EXPECT_THAT(text_of([](Options& o) { o.body_bytes_max = 0; }), HasSubstr("body_bytes"));
  EXPECT_THAT(text_of([](Options& o) { o.keyfile = "/k"; }), HasSubstr("certfile"));
  // A password in a URL is refused, and not shown.
  EXPECT_THAT(text_of([](Options& o) { o.auth_url = "http://me:hunter2@h:5000"; }),
              AllOf(HasSubstr("user name"), Not(HasSubstr("hunter2"))));
}

TEST(KeystoneUrl, FindsVersionThree) {
  EXPECT_EQ(*keystone_v3_url("http://h:5000"), "http://h:5000/v3");
  EXPECT_EQ(*keystone_v3_url("http://h:5000/"), "http://h:5000/v3");
  EXPECT_EQ(*keystone_v3_url("HTTPS://h/identity"), "HTTPS://h/identity/v3");
  EXPECT_EQ(*keystone_v3_url("http://h:5000/v3/"), "http://h:5000/v3");
  EXPECT_EQ(*keystone_v3_url("http://h:5000/v2.0"), "http://h:5000/v3");
  EXPECT_EQ(*keystone_v3_url("http://[::1]:5000"), "http://[::1]:5000/v3");
  for (const char* bad : {"", "keystone:5000", "http://", "http:///v3", "http://:5000",
                          "http://h/ v3", "http://h/v3?x=1", "http://h\r\nX: y"}) {
    EXPECT_FALSE(keystone_v3_url(bad).ok()) << bad;
  }
}

TEST(Url, EncodesEverythingButTheUnreserved) {
  EXPECT_EQ(percent_encode("compute-2.example_~"), "compute-2.example_~");
  EXPECT_EQ(percent_encode("a b&c=d/ü"), "a%20b%26c%3Dd%2F%C3%BC");
}

TEST(KeystoneAnswer, ReadsTheRecordedToken) {
  const auto token = parse_token(recorded("keystone-30/post-auth-tokens.http"), kBytesMax);
  ASSERT_TRUE(token.ok()) << token.error().what;
  EXPECT_EQ(token->id, "gAAAAA-redacted");
  EXPECT_EQ(token->life_ms, 3'600'000);
  EXPECT_EQ(token->catalog.size(), 13U);
  Options options = password_options();
  EXPECT_EQ(*choose_endpoint(options, token->catalog), "http://127.0.0.1:8778");
  options.service_type = "accelerator";
  EXPECT_EQ(*choose_endpoint(options, token->catalog), "http://127.0.0.1:6666/v2");
}

TEST(KeystoneAnswer, SaysWhatRefusedUs) {
  const auto refused = parse_token(
      answer(401, R"({"error":{"code":401,"message":"The request you have made requires auth"}})"),
      kBytesMax);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_THAT(refused.error().what, HasSubstr("requires auth"));
  EXPECT_EQ(refused.error().raw, 401);
  EXPECT_EQ(parse_token(answer(503, "<html>"), kBytesMax).error().code, Errc::unavailable);
  EXPECT_EQ(parse_token(answer(404, "<html>"), kBytesMax).error().code, Errc::invalid);
  EXPECT_EQ(parse_token(answer(200, "{}"), kBytesMax).error().code, Errc::invalid);
}

TEST(KeystoneAnswer, RefusesWhatIsNoToken) {
  const HttpResponse good = recorded("keystone-30/post-auth-tokens.http");
  const auto text_of = [&](auto change) {
    HttpResponse response = good;
    change(response);
    const auto token = parse_token(response, kBytesMax);
    if (token.ok()) return std::string("accepted");
    EXPECT_EQ(token.error().code, Errc::invalid);
    return token.error().what;
  };
  EXPECT_THAT(text_of([](HttpResponse& r) { r.headers.clear(); }), HasSubstr("X-Subject-Token"));
  EXPECT_THAT(text_of([](HttpResponse& r) { r.body = "<html>"; }), HasSubstr("not JSON"));
  EXPECT_THAT(text_of([](HttpResponse& r) { r.body = "[]"; }), HasSubstr("'token'"));
  EXPECT_THAT(text_of([](HttpResponse& r) { r = replaced(r, "expires_at\"", "exp\""); }),
              HasSubstr("expires_at"));
  EXPECT_THAT(text_of([](HttpResponse& r) { r = replaced(r, "2026-11-20T13", "2026-11-20T11"); }),
              HasSubstr("expires before"));
  EXPECT_THAT(text_of([](HttpResponse& r) { r.body = std::string(1'000'000, '['); }),
              HasSubstr("not JSON"));
}

std::vector<CatalogEndpoint> small_catalog() {
  return {{"compute", "nova", "internal", "One", "One", "http://nova"},
          {"placement", "placement", "public", "One", "One", "http://public/placement/"},
          {"placement", "placement", "internal", "Two", "Two", "http://two"},
          {"placement", "placement", "internal", "", "One", "http://one/"}};
}

TEST(KeystoneCatalog, ChoosesByInterfaceThenRegion) {
  Options options = password_options();
  EXPECT_EQ(*choose_endpoint(options, small_catalog()), "http://two");
  options.region_name = "One";
  EXPECT_EQ(*choose_endpoint(options, small_catalog()), "http://one");
  options.valid_interfaces = {"publicURL", "internal"};
  EXPECT_EQ(*choose_endpoint(options, small_catalog()), "http://public/placement");
  options.service_name = "other";
  EXPECT_EQ(choose_endpoint(options, small_catalog()).error().code, Errc::refused);
  options.endpoint_override = "https://over/ride/";
  EXPECT_EQ(*choose_endpoint(options, small_catalog()), "https://over/ride");
}

TEST(KeystoneCatalog, SaysWhatItHasWhenNothingFits) {
  Options options = password_options();
  options.region_name = "Three";
  const auto missing = choose_endpoint(options, small_catalog());
  EXPECT_THAT(missing.error().what,
              AllOf(HasSubstr("'Three'"), HasSubstr("internal or public"), HasSubstr("Two")));
  EXPECT_THAT(choose_endpoint(options, {}).error().what, HasSubstr("scope"));
}

}  // namespace
}  // namespace reclaim::placement
