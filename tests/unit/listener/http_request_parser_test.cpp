#include "listener/http/request_parser.h"

#include <gmock/gmock.h>

#include <memory>

namespace reclaim::listener {
namespace {

using ::testing::HasSubstr;

using Outcome = HttpRequestParser::Outcome;
using Progress = HttpRequestParser::Progress;

// All that came of some bytes: each request as one line, and the refusal that ended it.
struct Read {
  std::vector<std::string> requests;
  int refused = 0;
  std::string why;
  Progress progress = Progress::between;
};

std::string line_of(const HttpRequest& read) {
  std::string line = read.request.method + " " + read.request.target + " " + read.host + " 1." +
                     std::to_string(read.version_minor) + (read.keep_alive ? " keep" : " close");
  for (const api::Header& header : read.request.headers) {
    line += " " + header.name + "=" + header.value;
  }
  return line + " [" + read.request.body + "]";
}

Read read_in_pieces(std::string_view bytes, std::size_t piece, const HttpLimits& limits) {
  HttpRequestParser parser(limits);
  Read out;
  std::string_view held;  // of the piece: what is not consumed
  while (out.refused == 0 && (!held.empty() || !bytes.empty())) {
    if (held.empty()) {
      held = bytes.substr(0, piece);
      bytes.remove_prefix(held.size());
    }
    const HttpRequestParser::Fed fed = parser.feed(held);
    held.remove_prefix(fed.consumed);
    if (fed.outcome == Outcome::more) {
      EXPECT_TRUE(held.empty());
    } else if (fed.outcome == Outcome::request) {
      out.requests.push_back(line_of(parser.take_request()));
    } else {
      out.refused = parser.refusal().status;
      out.why = parser.refusal().why;
    }
  }
  out.progress = parser.progress();
  return out;
}

// However the bytes are cut, they mean the same.
Read read(std::string_view bytes, const HttpLimits& limits = {}) {
  const Read whole = read_in_pieces(bytes, bytes.size(), limits);
  for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
    const Read cut = read_in_pieces(bytes, piece, limits);
    EXPECT_EQ(cut.requests, whole.requests) << "in pieces of " << piece;
    EXPECT_EQ(cut.refused, whole.refused) << "in pieces of " << piece;
    if (whole.refused != 0) continue;
    EXPECT_EQ(cut.progress, whole.progress) << "in pieces of " << piece;
  }
  return whole;
}

std::vector<std::string> good(std::string_view bytes) {
  const Read out = read(bytes);
  EXPECT_EQ(out.refused, 0) << out.why;
  EXPECT_EQ(out.progress, Progress::between);
  return out.requests;
}

TEST(HttpRequestParser, ReadsRequestsOneAfterTheOther) {
  EXPECT_THAT(
      good("GET /v2/devices?type=NVME HTTP/1.1\r\nHost: api:6666\r\nX-Auth-Token:  t \t\r\n\r\n"
           "POST /a HTTP/1.1\r\nHost: api\r\nContent-Length: 3\r\n\r\nabc"
           "DELETE /b HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\nEmpty:\r\n\r\n"),
      ::testing::ElementsAre(
          "GET /v2/devices?type=NVME api:6666 1.1 keep Host=api:6666 X-Auth-Token=t []",
          "POST /a api 1.1 keep Host=api Content-Length=3 [abc]",
          "DELETE /b [::1]:80 1.1 close Host=[::1]:80 Connection=close Empty= []"));
}

TEST(HttpRequestParser, ReadsChunkedBodies) {
  EXPECT_THAT(
      good("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
           "3\r\nabc\r\n0A;name=\"value\"\r\n0123456789\r\n0\r\n\r\n"
           "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"),
      ::testing::ElementsAre("POST /a h 1.1 keep Host=h Transfer-Encoding=Chunked [abc0123456789]",
                             "GET /b h 1.1 keep Host=h []"));
}

TEST(HttpRequestParser, AcceptsHttp10AndProxiesTargets) {
  EXPECT_THAT(good("GET / HTTP/1.0\r\n\r\n"), ::testing::ElementsAre("GET /  1.0 close []"));
  EXPECT_THAT(good("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              ::testing::ElementsAre("GET /  1.0 keep Connection=keep-alive []"));
  // The target's host counts, whatever the header says.
  EXPECT_THAT(good("GET http://other:81/x?y HTTP/1.1\r\nHost: h\r\n\r\n"),
              ::testing::ElementsAre("GET /x?y other:81 1.1 keep Host=h []"));
  EXPECT_THAT(good("GET http://other HTTP/1.1\r\nHost: h\r\n\r\n"),
              ::testing::ElementsAre("GET / other 1.1 keep Host=h []"));
  EXPECT_THAT(good("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
              ::testing::ElementsAre("OPTIONS * h 1.1 keep Host=h []"));
}

TEST(HttpRequestParser, AnUpgradeIsPassedOver) {
  EXPECT_THAT(good("GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
                   "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"),
              ::testing::SizeIs(2));
}

TEST(HttpRequestParser, AnEmptyLineBeforeARequestIsPassedOver) {
  EXPECT_THAT(good("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), ::testing::SizeIs(1));
}

struct Bad {
  const char* bytes;
  int status;
  const char* why;
};

// Whatever a proxy before us might read differently, and whatever is none of our business.
TEST(HttpRequestParser, RefusesWhatCouldBeReadInTwoWays) {
  const std::vector<Bad> table = {
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\na", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\na", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 1\r\n\r\na", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\na", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 1\r\n\r\na", 400, "header's name"},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
       400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n",
       400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
       "chunked\r\n\r\n",
       400, "more than once"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400, "chunked"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \vchunked\r\n\r\n", 400, ""},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.1's chunked"},
      {"GET / HTTP/1.1\nHost: h\n\n", 400, "CR LF"},
      {"GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", 400, "CR LF"},
      {"GET / HTTP/1.1\r\nHost: h\r\n\rX", 400, "CR LF"},
      {"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400, "folded"},
      {"GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400, ""},
      {"GET / HTTP/1.1\r\nHost: h\r\nA: b\x01\r\n\r\n", 400, "character"},
      {"GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n", 400, ""},
      {"GET / HTTP/1.1\r\nHost: h\r\nA b: c\r\n\r\n", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\rXa\r\n0\r\n\r\n", 400,
       "CR LF"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\nXa\r\n0\r\n\r\n", 400,
       ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400,
       ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n0\r\n\r\n",
       400, "CR LF"},
      // What a proxy takes for one body must not be two requests here.
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloZZ0\r\n\r\n"
       "GET /v2 HTTP/1.1\r\nHost: h\r\n\r\n",
       400, "data does not end"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naZ\n0\r\n\r\n", 400,
       "data does not end"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\rZ0\r\n\r\n", 400,
       "CR LF"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na  0\r\n\r\n", 400,
       "data does not end"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n", 400,
       "size"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1 ;b\r\na\r\n0\r\n\r\n",
       400, "size"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\t\r\n\r\n", 400,
       ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0 \r\n\r\n", 400,
       "size"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
       "ffffffffffffffffff\r\n",
       400, ""},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: i\r\n\r\n", 400,
       "trailers"},
      {"GET / HTTP/1.1\r\n\r\n", 400, "Host"},
      {"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400, "Host"},
      {"GET / HTTP/1.1\r\nHost: h/evil?\r\n\r\n", 400, "Host"},
      {"GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, ""},
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400, "space"},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400, ""},
      {"GET /\x80 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "target"},
      {"GET /#a HTTP/1.1\r\nHost: h\r\n\r\n", 400, "target"},
      {"GET ../a HTTP/1.1\r\nHost: h\r\n\r\n", 400, ""},
      {"GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400, "'/'"},
      {"GET /\r\n\r\n", 505, "HTTP/1.1"},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, "HTTP/1.1"},
      {"GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505, "HTTP/1.1"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, ""},
      {"BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n", 400, "method"},
      {"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 405, "proxy"},
      {"\x16\x03\x01\x02", 400, "not an HTTP request"},
      {"\r\n\r\n\r\nGET / HTTP/1.1\r\n", 400, "empty lines"},
      {"POST / HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\na", 417, "100"},
  };
  for (const Bad& bad : table) {
    const Read out = read(bad.bytes);
    EXPECT_EQ(out.refused, bad.status) << bad.bytes << "\n" << out.why;
    EXPECT_THAT(out.why, HasSubstr(bad.why)) << bad.bytes;
    EXPECT_THAT(out.requests, ::testing::IsEmpty()) << bad.bytes;
  }
}

TEST(HttpRequestParser, ANulIsNoPartOfAHead) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: h\r\nA: \0b\r\n\r\n"sv).refused, 400);
  EXPECT_EQ(read("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"sv).refused, 400);
}

TEST(HttpRequestParser, EachLimitHasItsStatus) {
  const HttpLimits limits{100, 10, 3};
  const auto status = [&limits](const std::string& bytes) { return read(bytes, limits).refused; };
  const std::string host = " HTTP/1.1\r\nHost: h\r\n";
  // The 5 bytes of "Host" and "h" are part of the head as well.
  EXPECT_EQ(status("GET /" + std::string(94, 'a') + host + "\r\n"), 0);
  EXPECT_EQ(status("GET /" + std::string(95, 'a') + host + "\r\n"), 431);
  EXPECT_EQ(status("GET /" + std::string(100, 'a')), 414);
  EXPECT_EQ(status("GET /" + std::string(99, 'a')), 0);
  EXPECT_EQ(status("GET /" + host + "A: " + std::string(100, 'b')), 431);
  EXPECT_EQ(status("GET /" + host + std::string(101, 'B')), 431);
  EXPECT_EQ(status("GET /" + host + "A: 1\r\nB: 2\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /" + host + "A: 1\r\nB: 2\r\nC"), 431);
  EXPECT_EQ(status("POST /" + host + "Content-Length: 10\r\n\r\n0123456789"), 0);
  EXPECT_EQ(status("POST /" + host + "Content-Length: 11\r\n\r\n"), 413);
  const std::string chunked = "POST /" + host + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status(chunked + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(status(chunked + "5\r\n01234\r\n6\r\n567890"), 413);
  EXPECT_EQ(status(chunked + "1;" + std::string(300, 'x')), 400);
}

TEST(HttpRequestParser, ALimitIsFeltBeforeTheLineEnds) {
  HttpRequestParser parser(HttpLimits{1'000, 10, 3});
  std::size_t fed = 0;
  EXPECT_EQ(parser.feed("GET /").outcome, Outcome::more);
  while (parser.feed("aaaaaaaaaa").outcome == Outcome::more) ASSERT_LT(++fed, 200U);
  EXPECT_EQ(parser.refusal().status, 414);
}

TEST(HttpRequestParser, TellsWhenTheClientWaitsToContinue) {
  HttpRequestParser parser{HttpLimits{}};
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: ";
  EXPECT_EQ(parser.feed(head).outcome, Outcome::more);
  EXPECT_EQ(parser.progress(), Progress::head);
  EXPECT_FALSE(parser.awaits_continue());
  EXPECT_EQ(parser.feed("100-Continue\r\n\r\n").outcome, Outcome::more);
  EXPECT_EQ(parser.progress(), Progress::body);
  EXPECT_TRUE(parser.awaits_continue());
  parser.continued();
  EXPECT_FALSE(parser.awaits_continue());
  EXPECT_EQ(parser.feed("ab").outcome, Outcome::request);
  EXPECT_EQ(parser.take_request().request.body, "ab");
  // Not with the body already there, not without one, and HTTP/1.0 knows no such thing.
  EXPECT_EQ(parser.feed(head + "100-continue\r\n\r\na").outcome, Outcome::more);
  EXPECT_FALSE(parser.awaits_continue());
  EXPECT_EQ(parser.feed("b").outcome, Outcome::request);
  static_cast<void>(parser.take_request());
  EXPECT_EQ(parser.feed("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n").outcome,
            Outcome::request);
  static_cast<void>(parser.take_request());
  EXPECT_EQ(
      parser.feed("POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n").outcome,
      Outcome::more);
  EXPECT_FALSE(parser.awaits_continue());
}

TEST(HttpRequestParser, AHostIsANameOrAnAddressAndPerhapsAPort) {
  for (const char* host :
       {"h", "api.example.org", "a-b_c", "10.0.0.1:6666", "[::1]", "[fe80::1]:1", "h:65535"}) {
    EXPECT_TRUE(is_http_host(host)) << host;
  }
  for (const char* host : {"", ":80", "h:", "h:0", "h:65536", "h:1x", "h h", "h/", "u@h", "[::1",
                           "[]", "[::g]", "::1", "h\"", "<h>", "h:80:80", "\xc3\xa9"}) {
    EXPECT_FALSE(is_http_host(host)) << host;
  }
  EXPECT_FALSE(is_http_host(std::string(256, 'a')));
}

}  // namespace
}  // namespace reclaim::listener
