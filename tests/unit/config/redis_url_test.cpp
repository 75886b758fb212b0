// [redis] url: what is accepted, and errors that never quote a password.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/settings.h"

namespace reclaim::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RedisOptions redis(std::string_view url) {
  RedisOptions settings;
  const Status parsed = parse_redis_url(url, settings);
  EXPECT_TRUE(parsed.ok()) << url << ": " << (parsed.ok() ? "" : parsed.error().what);
  return settings;
}

std::string redis_error(std::string_view url) {
  RedisOptions settings;
  const Status parsed = parse_redis_url(url, settings);
  EXPECT_FALSE(parsed.ok()) << url;
  return parsed.ok() ? "" : parsed.error().what;
}

TEST(RedisUrl, Tcp) {
  EXPECT_EQ(redis("redis://h").host, "h");
  EXPECT_EQ(redis("redis://h").port, 6379);
  EXPECT_EQ(redis("redis://h:1/").port, 1);
  EXPECT_EQ(redis("redis://h/3").db, 3);
  EXPECT_EQ(redis("redis://[::1]:7/1").host, "::1");
  EXPECT_EQ(redis("redis://[::1]:7/1").port, 7);
  const RedisOptions full = redis("redis://us%40er:p%3A%2F%40w@h:6380/2");
  EXPECT_EQ(full.username, "us@er");
  EXPECT_EQ(full.password, "p:/@w");
  EXPECT_EQ(full.host, "h");
  EXPECT_EQ(full.db, 2);
  EXPECT_EQ(redis("redis://:pw@h").username, "");
  EXPECT_EQ(redis("redis://:pw@h").password, "pw");
}

TEST(RedisUrl, Unix) {
  EXPECT_EQ(redis("unix:///run/redis.sock").unix_socket, "/run/redis.sock");
  EXPECT_EQ(redis("unix:///run/redis.sock").host, "");
  EXPECT_EQ(redis("unix:///run/redis.sock?db=4").db, 4);
  const RedisOptions full = redis("unix://u:p@/run/a@b.sock");
  EXPECT_EQ(full.username, "u");
  EXPECT_EQ(full.password, "p");
  EXPECT_EQ(full.unix_socket, "/run/a@b.sock");
}

TEST(RedisUrl, Sentinel) {
  const RedisOptions short_form = redis("redis+sentinel://s1/cloud");
  EXPECT_EQ(short_form.host, "") << "a sentinel names it";
  EXPECT_EQ(short_form.sentinels, (std::vector<RedisAddress>{{"s1", 26379}}));
  EXPECT_EQ(short_form.sentinel_service, "cloud");
  EXPECT_EQ(short_form.db, 0);
  const RedisOptions full = redis(
      "redis+sentinel://u:p%2C%3F@s1:1,[::1]:2,s3/my%20cloud/4?sentinel_username=su&"
      "sentinel_password=s%26p");
  EXPECT_EQ(full.sentinels, (std::vector<RedisAddress>{{"s1", 1}, {"::1", 2}, {"s3", 26379}}));
  EXPECT_EQ(full.sentinel_service, "my cloud");
  EXPECT_EQ(full.db, 4);
  EXPECT_EQ(full.username, "u");
  EXPECT_EQ(full.password, "p,?");
  EXPECT_EQ(full.sentinel_username, "su");
  EXPECT_EQ(full.sentinel_password, "s&p");
  EXPECT_TRUE(redis("redis://h").sentinels.empty());
}

TEST(RedisUrl, SentinelErrors) {
  EXPECT_THAT(redis_error("redis+sentinel://s1"), HasSubstr("no name of a service"));
  EXPECT_THAT(redis_error("redis+sentinel://s1//2"), HasSubstr("no name of a service"));
  EXPECT_THAT(redis_error("redis+sentinel:///cloud"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis+sentinel://s1,,s2/cloud"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis+sentinel://s1,/cloud"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis+sentinel://s1:x/cloud"), HasSubstr("port"));
  EXPECT_THAT(redis_error("redis+sentinel://s1/cloud/x"), HasSubstr("database is not a number"));
  EXPECT_THAT(redis_error("redis+sentinel://s1/cloud?db=1"), HasSubstr("may follow '?'"));
  EXPECT_THAT(redis_error("redis+sentinel://s1/cloud?sentinel_username=u"),
              HasSubstr("no sentinel_password"));
  for (const std::string name : {"sentinel_username", "sentinel_password"}) {
    EXPECT_THAT(redis_error("redis+sentinel://s1/cloud?sentinel_username=u&sentinel_password=w&" +
                            name + "=w"),
                HasSubstr(name + " is given twice: give it once"));
  }
  EXPECT_THAT(redis_error("redis+sentinel://u@s1/cloud"), HasSubstr("a user but no password"));
  std::string many = "redis+sentinel://s";
  for (int i = 0; i < 40; ++i) many += ",s";
  EXPECT_THAT(redis_error(many + "/cloud"), HasSubstr("more than 32 sentinels"));
}

TEST(RedisUrl, Cluster) {
  const RedisOptions short_form = redis("redis+cluster://n1");
  EXPECT_EQ(short_form.host, "") << "its nodes are";
  EXPECT_EQ(short_form.cluster, (std::vector<RedisAddress>{{"n1", 6379}}));
  const RedisOptions full = redis("redis+cluster://u:p%2C%3F@n1:1,[::1]:2,n3/0");
  EXPECT_EQ(full.cluster, (std::vector<RedisAddress>{{"n1", 1}, {"::1", 2}, {"n3", 6379}}));
  EXPECT_EQ(full.username, "u");
  EXPECT_EQ(full.password, "p,?");
  EXPECT_TRUE(redis("redis://h").cluster.empty());
  RedisOptions again = full;
  ASSERT_TRUE(parse_redis_url("redis://h", again).ok());
  EXPECT_TRUE(again.cluster.empty()) << "what was read before";
}

TEST(RedisUrl, ClusterErrors) {
  EXPECT_THAT(redis_error("redis+cluster://n1/3"), HasSubstr("has database 0 alone"));
  EXPECT_THAT(redis_error("redis+cluster://n1/x"), HasSubstr("database is not a number"));
  EXPECT_THAT(redis_error("redis+cluster://"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis+cluster://n1,,n2"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis+cluster://n1,"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis+cluster://n1:x"), HasSubstr("port"));
  EXPECT_THAT(redis_error("redis+cluster://n1?db=1"), HasSubstr("'?' and '#' are not accepted"));
  EXPECT_THAT(redis_error("redis+cluster://u@n1"), HasSubstr("a user but no password"));
  std::string many = "redis+cluster://n";
  for (int i = 0; i < 40; ++i) many += ",n";
  EXPECT_THAT(redis_error(many), HasSubstr("more than 32 nodes; a few are enough"));
}

TEST(RedisUrl, TlsWhereHiredisHasIt) {
  EXPECT_EQ(redis_has_tls(), RECLAIM_HIREDIS_TLS) << "the configuration was compiled without it";
  EXPECT_FALSE(redis("redis://h").tls.enabled);
  EXPECT_FALSE(redis("redis+cluster://h").tls.enabled);
  EXPECT_FALSE(redis("redis+sentinel://h/s").tls.enabled);
  if (!redis_has_tls()) {
    for (const char* url : {"rediss://h", "rediss+sentinel://h/s", "rediss+cluster://h"}) {
      EXPECT_THAT(redis_error(url), AllOf(HasSubstr("this build has not"), HasSubstr("Debian 13"),
                                          HasSubstr("a unix socket or a tunnel")));
    }
    return;
  }
  const RedisOptions plain = redis("rediss://u:p@h:6380/2");
  EXPECT_TRUE(plain.tls.enabled);
  EXPECT_EQ(plain.host, "h");
  EXPECT_EQ(plain.port, 6380);
  EXPECT_EQ(plain.db, 2);
  EXPECT_EQ(plain.password, "p");
  const RedisOptions by_sentinels = redis("rediss+sentinel://u:p@s1,s2:1/cloud");
  EXPECT_TRUE(by_sentinels.tls.enabled);
  EXPECT_EQ(by_sentinels.sentinels, (std::vector<RedisAddress>{{"s1", 26379}, {"s2", 1}}));
  EXPECT_TRUE(redis("rediss+cluster://h").tls.enabled);
  EXPECT_EQ(redis("rediss+cluster://h").cluster, (std::vector<RedisAddress>{{"h", 6379}}));
  RedisOptions again = plain;
  ASSERT_TRUE(parse_redis_url("redis://h", again).ok());
  EXPECT_FALSE(again.tls.enabled) << "what was read before";
}

TEST(RedisUrl, Errors) {
  EXPECT_THAT(redis_error("h:6379"), HasSubstr("accepted: redis://"));
  EXPECT_THAT(redis_error("redis"), HasSubstr("accepted: redis://"));
  EXPECT_THAT(redis_error("redis+unix://h"), HasSubstr("accepted: redis://"));
  EXPECT_THAT(redis_error("redis://"), HasSubstr("no host"));
  EXPECT_THAT(redis_error("redis://h:0"), HasSubstr("port"));
  EXPECT_THAT(redis_error("redis://h/x"), HasSubstr("database is not a number"));
  EXPECT_THAT(redis_error("redis://h/1?x=1"), HasSubstr("'?' and '#' are not accepted"));
  EXPECT_THAT(redis_error("redis://u@h"), HasSubstr("a user but no password"));
  EXPECT_THAT(redis_error("redis://[::1"), HasSubstr("no ']'"));
  EXPECT_THAT(redis_error("redis://[::1]x"), HasSubstr("follows the host's ']'"));
  EXPECT_THAT(redis_error("redis://a b"), HasSubstr("white space"));
  EXPECT_THAT(redis_error("redis://:%00@h"), HasSubstr("NUL"));
  EXPECT_THAT(redis_error("unix://run/redis.sock"), HasSubstr("must start with '/'"));
  EXPECT_THAT(redis_error("unix:///r?x=1"), HasSubstr("only db=N"));
  EXPECT_THAT(redis_error("unix:///" + std::string(107, 'x')), HasSubstr("longer than 107 bytes"));
  EXPECT_THAT(redis_error("redis://" + std::string(5000, 'x')),
              HasSubstr("longer than 4096 bytes"));
}

}  // namespace
}  // namespace reclaim::config
