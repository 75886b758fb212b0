#include "listener/http/answer.h"

#include <gmock/gmock.h>

namespace reclaim::listener {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

HttpFrame frame() {
  HttpFrame frame;
  frame.date = WallMs{784'111'777'123};
  frame.keep_alive = true;
  frame.request_id = "req-1";
  return frame;
}

TEST(HttpAnswer, HasWhatHttpAsksFor) {
  api::Response response;
  response.headers = {{"Content-Type", "application/json"}, {"OpenStack-API-Version", "x 2.5"}};
  response.body = "{}";
  EXPECT_EQ(http_head(response, frame()),
            "HTTP/1.1 200 OK\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Type: application/json\r\n"
            "OpenStack-API-Version: x 2.5\r\n"
            "X-Openstack-Request-Id: req-1\r\n"
            "Content-Length: 2\r\n\r\n");
}

TEST(HttpAnswer, AResponseCannotContradictItsFraming) {
  api::Response response;
  response.headers = {{"content-length", "99"},
                      {"Transfer-Encoding", "chunked"},
                      {"CONNECTION", "keep-alive"},
                      {"X-OpenStack-Request-Id", "req-2"},
                      {"Bad Name", "x"},
                      {"", "x"},
                      {"X-Split", "a\r\nInjected: b"}};
  HttpFrame last = frame();
  last.keep_alive = false;
  const std::string head = http_head(response, last);
  EXPECT_THAT(head, AllOf(HasSubstr("\r\nContent-Length: 0\r\n"), Not(HasSubstr("length")),
                          Not(HasSubstr("chunked")), Not(HasSubstr("keep-alive"))));
  EXPECT_THAT(head, AllOf(Not(HasSubstr("req-2")), Not(HasSubstr("Bad Name")),
                          HasSubstr("\r\nX-Split: a  Injected: b\r\n"),
                          HasSubstr("\r\nConnection: close\r\n\r\n")));
}

TEST(HttpAnswer, ErrorsAreOfTheApisShape) {
  const api::Response response = http_error(414, "too long");
  EXPECT_EQ(response.status, 414);
  EXPECT_EQ(response.headers.at(0).value, "application/json");
  EXPECT_THAT(response.body, HasSubstr(R"(\"faultstring\":\"URI Too Long: too long\")"));
}

TEST(HttpAnswer, OnlyWhatOsloMakesIsARequestId) {
  const std::string id = "req-11111111-2222-3333-4444-555555555555";
  EXPECT_EQ(valid_request_id(id), id);
  for (const std::string& bad : {id + "0", id.substr(4), std::string("req-"), "req-" + id,
                                 std::string("req-11111111-2222-3333-4444-55555555555\n")}) {
    EXPECT_EQ(valid_request_id(bad), "") << bad;
  }
}

TEST(HttpAnswer, TheLogLineIsOneLineAndBounded) {
  HttpLogEntry entry;
  entry.client = "10.0.0.1";
  entry.method = "GET";
  entry.target = "/v2/devices?a=\"\\\n\x7f\xff";
  entry.status = 200;
  entry.body_bytes = 12;
  entry.took_ms = 1'234;
  EXPECT_EQ(http_log_line(entry),
            "10.0.0.1 \"GET /v2/devices?a=\\x22\\x5c\\x0a\\x7f\\xff HTTP/1.1\" status: 200 len: 12 "
            "time: 1.234");
  const std::string large(10'000, 'a');
  entry.target = large;
  EXPECT_THAT(http_log_line(entry),
              AllOf(::testing::SizeIs(::testing::Lt(2'200U)), HasSubstr("aaa... HTTP/1.1\"")));
  entry.method = "";
  EXPECT_THAT(http_log_line(entry), HasSubstr("10.0.0.1 \"-\" status"));
}

}  // namespace
}  // namespace reclaim::listener
