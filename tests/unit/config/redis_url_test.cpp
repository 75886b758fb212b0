// [redis] url: what is accepted, and errors that never quote a password.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/settings.h"

namespace reclaim::config {
namespace {

using testing::HasSubstr;

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

TEST(RedisUrl, Errors) {
  EXPECT_THAT(redis_error("rediss://h"), HasSubstr("TLS (rediss://) is not supported"));
  EXPECT_THAT(redis_error("h:6379"), HasSubstr("accepted: redis://"));
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
