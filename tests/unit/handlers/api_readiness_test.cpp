// Whether this node answers, for proxies and monitors, which have no token.
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct ApiReadinessTest : ApiTest {
  Response get(const std::string& path) { return ask(request("GET", path, "", "")); }
};

TEST_F(ApiReadinessTest, AProcessThatLivesSaysSoWithoutRedis) {
  store.away = true;
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(store.hosts_asked, 0);
  EXPECT_EQ(ask(request("POST", "/healthz", "", "")).status, 405);
}

TEST_F(ApiReadinessTest, RedisThatIsAwayIsTold) {
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/").status, 200);
  store.away = true;
  clock.advance(1'000);
  for (const char* path : {"/readyz", "/"}) {
    const Response response = get(path);
    EXPECT_EQ(response.status, 503) << path;
    EXPECT_THAT(response.body, HasSubstr("Redis is unavailable"));
    EXPECT_THAT(response.body, Not(HasSubstr("127.0.0.1"))) << "anybody may ask";
  }
  EXPECT_EQ(get("/v2").status, 200);
  store.away = false;
  clock.advance(1'000);
  EXPECT_EQ(get("/readyz").status, 200);
}

TEST_F(ApiReadinessTest, RedisIsReadOnceHoweverManyAsk) {
  for (int i = 0; i < 20; ++i) (void)get("/readyz");
  EXPECT_EQ(store.hosts_asked, 1);
}

TEST_F(ApiReadinessTest, KeystoneThatFailedIsToldForHalfAMinute) {
  tokens.trouble = Error{Errc::unavailable, "controller:5000 does not answer"};
  EXPECT_EQ(ask(request("GET", "/v2/devices", "2.3")).status, 503);
  const Response response = get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body,
              AllOf(HasSubstr("Keystone is unavailable"), Not(HasSubstr("controller"))));
  EXPECT_EQ(get("/").status, 200) << "it needs no token";
  // Who takes it out of service must let it come back.
  clock.advance(30'000);
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(ask(request("GET", "/v2/devices", "2.3")).status, 503);
  tokens.trouble.reset();
  EXPECT_EQ(ask(request("GET", "/v2/devices", "2.3")).status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
}

}  // namespace
}  // namespace reclaim::api
