// transport_url, form by form. What is expected was checked against oslo.messaging 14.0.3.
#include "config/transport_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TransportUrl good(std::string_view text) {
  auto url = parse_transport_url(text);
  EXPECT_TRUE(url.ok()) << text << ": " << (url.ok() ? "" : url.error().what);
  return url.ok() ? *url : TransportUrl{};
}

std::string error(std::string_view text) {
  const auto url = parse_transport_url(text);
  EXPECT_FALSE(url.ok()) << text;
  return url.ok() ? "" : url.error().what;
}

TEST(TransportUrl, OneHost) {
  const TransportUrl url = good("rabbit://nova:secret@10.0.0.1:5673/cell1");
  EXPECT_THAT(url.hosts, ElementsAre(listener::AmqpHost{"10.0.0.1", 5673, "nova", "secret"}));
  EXPECT_EQ(url.virtual_host, "cell1");
  EXPECT_THAT(url.query, ElementsAre());
}

TEST(TransportUrl, DefaultsAreKombus) {
  const TransportUrl url = good("rabbit://");
  EXPECT_THAT(url.hosts, ElementsAre(listener::AmqpHost{"localhost", 5672, "guest", "guest"}));
  EXPECT_EQ(url.virtual_host, "/");
  EXPECT_EQ(good("rabbit:///"), url);
  EXPECT_EQ(good("rabbit://h:/").hosts[0].port, 5672);
  EXPECT_EQ(good("rabbit://u:p@/").hosts[0].host, "localhost");
}

TEST(TransportUrl, SeveralHostsWithTheirOwnCredentials) {
  EXPECT_THAT(
      good("rabbit://a:b@h1:1,c:d@h2,h3:3,/v").hosts,
      ElementsAre(listener::AmqpHost{"h1", 1, "a", "b"}, listener::AmqpHost{"h2", 5672, "c", "d"},
                  listener::AmqpHost{"h3", 3, "guest", "guest"}));
}

TEST(TransportUrl, VirtualHosts) {
  EXPECT_EQ(good("rabbit://h").virtual_host, "/");
  EXPECT_EQ(good("rabbit://h/").virtual_host, "/");
  EXPECT_EQ(good("rabbit://h//").virtual_host, "/");
  EXPECT_EQ(good("rabbit://h/%2F").virtual_host, "/");
  EXPECT_EQ(good("rabbit://h//nova").virtual_host, "/nova");
  EXPECT_EQ(good("rabbit://h/a%20b/c").virtual_host, "a b/c");
}

TEST(TransportUrl, PercentDecodingAfterSplitting) {
  const TransportUrl url = good("rabbit://n%40x:p%2Cq%3A%40%2F%3F%23%25@h/");
  EXPECT_EQ(url.hosts[0].user, "n@x");
  EXPECT_EQ(url.hosts[0].password, "p,q:@/?#%");
}

TEST(TransportUrl, LiteralCharactersOslosUsersWrite) {
  EXPECT_EQ(good("rabbit://u:a&b=$c-_.+!*()@h/").hosts[0].password, "a&b=$c-_.+!*()");
  EXPECT_EQ(good("rabbit://u:a:b@h/").hosts[0].password, "a:b");
  EXPECT_EQ(good("rabbit://u:a@b@h/").hosts[0].password, "a@b");
  EXPECT_EQ(good("rabbit://u:a%zz%4@h/").hosts[0].password, "a%zz%4");
  EXPECT_EQ(good("rabbit://u@h/").hosts[0].password, "");
}

TEST(TransportUrl, Ipv6) {
  EXPECT_THAT(good("rabbit://u:p@[::1]:5671,u:p@[fd00::2]/").hosts,
              ElementsAre(listener::AmqpHost{"::1", 5671, "u", "p"},
                          listener::AmqpHost{"fd00::2", 5672, "u", "p"}));
  EXPECT_EQ(error("rabbit://[::1:5672/"), "host 1 starts with '[' but has no ']'");
  EXPECT_THAT(error("rabbit://[::1]x/"), HasSubstr("after ']'"));
}

TEST(TransportUrl, Query) {
  EXPECT_THAT(
      good("rabbit://h/?ssl=1&ssl_ca_file=%2Fetc%2Fca.pem&a=x+y&b=&c&a=2").query,
      ElementsAre(Pair("ssl", "1"), Pair("ssl_ca_file", "/etc/ca.pem"), Pair("a", "x y,2")));
  EXPECT_THAT(good("rabbit://h?ssl=1").query, ElementsAre(Pair("ssl", "1")));
}

TEST(TransportUrl, Schemes) {
  for (const char* scheme : {"rabbit", "kombu", "amqp", "RABBIT"}) {
    EXPECT_EQ(good(std::string(scheme) + "://h/").hosts[0].host, "h");
  }
  EXPECT_EQ(error("kafka://h/"), "scheme 'kafka' is not supported, accepted: rabbit, kombu, amqp");
  EXPECT_THAT(error("amqps://h/"), HasSubstr("ssl = true"));
  EXPECT_THAT(error("nova:pw@h/"), HasSubstr("no scheme"));
  EXPECT_THAT(error("://h"), HasSubstr("no scheme"));
  EXPECT_EQ(error("  "), "empty");
}

TEST(TransportUrl, ErrorsNeverShowAPassword) {
  // Python would take the bare '/' for the path's start and then fail on the port.
  for (const char* text : {"rabbit://u:hunter2/x@h:5672/", "rabbit://u:hunter2#x@h/",
                           "rabbit://u:hunter2?x@h/", "rabbit://h:hunter2/",
                           "hunter2:hunter2@h://x", "rabbit://u:p@h:0/", "rabbit://u:p@h:65536/"}) {
    EXPECT_THAT(error(text), Not(HasSubstr("hunter2"))) << text;
  }
  EXPECT_THAT(error("rabbit://u:hunter2/x@h:5672/"), HasSubstr("must be percent-encoded"));
  EXPECT_THAT(error("rabbit://u:a#b@h/"), HasSubstr("%23"));
}

TEST(TransportUrl, ControlCharactersAndNulAreRefused) {
  EXPECT_THAT(error("rabbit://u:p@h\n/"), HasSubstr("control character"));
  EXPECT_THAT(error("rabbit://u:p%00@h/"), HasSubstr("NUL"));
}

TEST(TransportUrl, IsBounded) {
  EXPECT_EQ(parse_transport_url("rabbit://" + std::string(kTransportUrlBytesMax, 'h')).error().code,
            Errc::limit);
  std::string hosts = "rabbit://h";
  for (std::size_t i = 1; i < kTransportHostsMax; ++i) hosts += ",h";
  EXPECT_TRUE(parse_transport_url(hosts).ok());
  EXPECT_EQ(parse_transport_url(hosts + ",h").error().what, "more than 64 hosts");
  const std::string password(300, 'p');
  EXPECT_EQ(good("rabbit://u:" + password + "@h/").hosts[0].password, password);
}

TEST(TransportUrl, RedactedShowsNoSecret) {
  const std::string text =
      redacted(good("rabbit://no%40va:hunter2@h1:1,b:hunter2@[::1]/v%2F1?ssl_key_file=hunter2"));
  EXPECT_EQ(text, "rabbit://no%40va:***@h1:1,b:***@[::1]:5672/v%2F1?ssl_key_file=***");
}

}  // namespace
}  // namespace reclaim::config
