// The curl transport and the client over it, against servers that misbehave: what was not sent,
// what was sent and never answered, and what is too much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/integration/placement_bench.h"
#include "tests/integration/placement_raw_server.h"

namespace reclaim::testing {
namespace {

using placement::Options;
using placement::ProviderView;
using ::testing::HasSubstr;

constexpr const char* kProvider = "e562c0c8-db6a-4852-a551-284cb71543d2";
const ProviderView kView{kProvider, 15, {{"CUSTOM_X", 1, 1, 1, 1, 1, 1.0}}, {}};

Options small_options() {
  Options options;
  options.auth_url = "http://127.0.0.1:1";
  options.username = "u";
  options.password = "p";
  options.default_domain_name = "Default";
  options.project_name = "service";
  options.timeout_ms = 20'000;
  options.connect_retries = 0;
  options.status_code_retries = 0;
  return options;
}

void respond(int fd, const std::string& status, const std::string& headers,
             const std::string& body) {
  RawServer::write_all(fd, "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n" + body);
}

// Answers as Keystone and as Placement's version document, so that only what follows misbehaves.
// The connection is closed after each answer, as one request a connection is all RawServer reads.
bool answer_login(int fd, const std::string& request) {
  if (request.starts_with("POST /v3/auth/tokens")) {
    respond(
        fd, "201 CREATED", "X-Subject-Token: secret-token\r\nConnection: close\r\n",
        R"({"token":{"issued_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T01:00:00Z"}})");
  } else if (request.starts_with("GET / ")) {
    respond(fd, "200 OK", "Connection: close\r\n",
            R"({"versions":[{"min_version":"1.0","max_version":"1.39"}]})");
  } else {
    return false;
  }
  shutdown(fd, SHUT_RDWR);
  return true;
}

Options options_for(const RawServer& server) {
  Options options = small_options();
  options.auth_url = server.url();
  options.endpoint_override = server.url();
  return options;
}

TEST(CurlTransport, NothingWasSentWhereNobodyListens) {
  PlacementBench bench(small_options());
  const auto answer = bench.send({"PUT", "http://127.0.0.1:1/x", {}, "{}"});
  EXPECT_EQ(answer.error().code, Errc::unavailable);
  EXPECT_THAT(answer.error().what, HasSubstr("http://127.0.0.1:1 cannot be reached"));
  EXPECT_EQ(bench.log_in().error().code, Errc::unavailable);
}

TEST(CurlTransport, NothingWasSentWhereTheNameIsNone) {
  PlacementBench bench(small_options());
  EXPECT_EQ(bench.send({"GET", "http://no-such-host.invalid/x", {}, ""}).error().code,
            Errc::unavailable);
}

TEST(CurlTransport, NothingWasSentWhereTlsMeetsPlainText) {
  const RawServer server([](int fd, const std::string&) { RawServer::write_all(fd, "plain\r\n"); });
  Options options = small_options();
  options.connect_timeout_ms = 300;
  PlacementBench bench(options);
  const auto answer = bench.send(
      {"PUT", "https" + server.url().substr(4) + "/x", {{"X-Auth-Token", "secret-token"}}, "{}"});
  EXPECT_EQ(answer.error().code, Errc::unavailable);
  EXPECT_THAT(answer.error().what, ::testing::Not(HasSubstr("secret-token")));
}

TEST(CurlTransport, SpeaksOnlyHttp) {
  PlacementBench bench(small_options());
  EXPECT_EQ(bench.send({"GET", "file:///etc/hostname", {}, ""}).error().code, Errc::invalid);
  EXPECT_EQ(bench.send({"GET", "gopher://127.0.0.1:1/", {}, ""}).error().code, Errc::invalid);
}

TEST(CurlTransport, ReadsStatusHeadersAndBody) {
  const RawServer server([](int fd, const std::string& request) {
    EXPECT_THAT(request, HasSubstr("X-Auth-Token: t\r\n"));
    EXPECT_THAT(request, ::testing::Not(HasSubstr("Expect")));
    RawServer::write_all(fd, "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n");
    respond(fd, "207 Odd", "x-THING:   value \r\n", "body");
  });
  PlacementBench bench(small_options());
  const auto answer =
      bench.send({"PUT", server.url() + "/x", {{"X-Auth-Token", "t"}}, std::string(3'000, 'b')});
  ASSERT_TRUE(answer.ok()) << answer.error().what;
  EXPECT_EQ(answer->status, 207);
  EXPECT_EQ(answer->header("X-Thing"), "value");
  EXPECT_EQ(answer->header("X-Early"), "");
  EXPECT_EQ(answer->body, "body");
}

TEST(CurlTransport, ReadsHowLongTheServiceAsksToBeLeftAlone) {
  std::string asked;
  const RawServer server([&asked](int fd, const std::string&) {
    respond(fd, "503 Service Unavailable", asked + "Connection: close\r\n", "");
    shutdown(fd, SHUT_RDWR);
  });
  PlacementBench bench(small_options());
  const auto told = [&](const std::string& header) {
    asked = header;
    return bench.send({"GET", server.url() + "/x", {}, ""})->retry_after_s;
  };
  EXPECT_EQ(told(""), 0);
  EXPECT_EQ(told("Retry-After: 17\r\n"), 17);
  EXPECT_GT(told("Retry-After: Sun, 06 Nov 2094 08:49:37 GMT\r\n"), 3'600);
  EXPECT_EQ(told("Retry-After: soon\r\n"), 0);
}

TEST(CurlTransport, DoesNotFollowRedirects) {
  const RawServer server([](int fd, const std::string&) {
    respond(fd, "302 Found", "Location: http://127.0.0.1:1/elsewhere\r\n", "");
  });
  PlacementBench bench(small_options());
  EXPECT_EQ(bench.send({"GET", server.url() + "/x", {}, ""})->status, 302);
  EXPECT_EQ(server.requests(), 1);
}

TEST(CurlTransport, IgnoresTheEnvironmentsProxy) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  const RawServer server([](int fd, const std::string&) { respond(fd, "200 OK", "", "{}"); });
  PlacementBench bench(small_options());
  EXPECT_TRUE(bench.send({"GET", server.url() + "/x", {}, ""}).ok());
  unsetenv("http_proxy");
}

TEST(CurlTransport, SentAndNeverAnsweredIsUnknown) {
  const RawServer server([](int, const std::string&) {});
  Options options = small_options();
  // A slow machine may not have sent it by then: it is given more time.
  Errc code = Errc::unavailable;
  for (options.timeout_ms = 300; code == Errc::unavailable; options.timeout_ms *= 10) {
    PlacementBench bench(options);
    code = bench.send({"PUT", server.url() + "/x", {}, "{}"}).error().code;
  }
  EXPECT_EQ(code, Errc::unknown);
  while (server.requests() == 0) std::this_thread::yield();
  EXPECT_EQ(server.requests(), 1);
}

TEST(CurlTransport, SentAndCutOffIsUnknownAndNotRepeated) {
  for (const char* partial : {"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"}) {
    const RawServer server([partial](int fd, const std::string&) {
      RawServer::write_all(fd, partial);
      shutdown(fd, SHUT_RDWR);
    });
    PlacementBench bench(small_options());
    const auto answer = bench.send({"PUT", server.url() + "/x", {}, "{}"});
    EXPECT_EQ(answer.error().code, Errc::unknown) << partial;
    EXPECT_EQ(server.requests(), 1);
  }
}

TEST(CurlTransport, RefusesABodyOfAHundredMegabytes) {
  std::atomic<bool> announced{true};
  const RawServer server([&](int fd, const std::string&) {
    const std::string block(1'000'000, 'x');
    RawServer::write_all(fd, announced ? "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
                                       : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 100 && RawServer::write_all(fd, block); ++i) {
    }
    shutdown(fd, SHUT_RDWR);
  });
  Options options = small_options();
  options.body_bytes_max = 2'000'000;
  for (const bool length : {true, false}) {
    announced = length;
    PlacementBench bench(options);
    const auto answer = bench.send({"GET", server.url() + "/x", {}, ""});
    EXPECT_EQ(answer.error().code, Errc::limit);
    EXPECT_THAT(answer.error().what, HasSubstr("2000000 bytes"));
  }
}

TEST(CurlTransport, QueuesBoundedly) {
  const RawServer server([](int fd, const std::string&) {
    respond(fd, "200 OK", "Connection: close\r\n", "{}");
    shutdown(fd, SHUT_RDWR);
  });
  Options options = small_options();
  options.requests_in_flight_max = 1;
  options.requests_waiting_max = 3;
  PlacementBench bench(options);
  int good = 0;
  int turned_away = 0;
  const auto count = [&](const Result<placement::HttpResponse>& answer) {
    if (answer.ok()) {
      ++good;
    } else {
      EXPECT_EQ(answer.error().code, Errc::limit);
      EXPECT_EQ(answer.error().raw, placement::HttpTransport::kNotSent);
      ++turned_away;
    }
  };
  for (int i = 0; i < 5; ++i) {
    bench.transport().send({"GET", server.url() + "/x", {}, ""}, count);
  }
  EXPECT_EQ(good + turned_away, 0);  // never from within send()
  for (int round = 0; round < 1'000 && good + turned_away < 5; ++round) bench.loop().run_once();
  EXPECT_EQ(good, 3);
  EXPECT_EQ(turned_away, 2);
}

TEST(CurlTransport, RefusesFilesItCannotRead) {
  uv::Loop loop;
  Options options = small_options();
  options.cafile = "/nowhere/ca.pem";
  const auto transport = placement::CurlTransport::create(loop.raw(), options);
  EXPECT_EQ(transport.error().code, Errc::invalid);
  EXPECT_THAT(transport.error().what, HasSubstr("cafile '/nowhere/ca.pem'"));
}

TEST(CurlTransport, MayBeDestroyedWithRequestsUnderWay) {
  const RawServer server([](int, const std::string&) {});
  PlacementBench bench(small_options());
  bool called = false;
  bench.transport().send({"GET", server.url() + "/x", {}, ""},
                         [&](const Result<placement::HttpResponse>&) { called = true; });
  for (int round = 0; round < 1'000 && server.requests() == 0; ++round) bench.loop().run_once();
  EXPECT_FALSE(called);
}

TEST(ClientOnTheWire, AWriteThatHangsIsUnknownAndSentOnce) {
  std::atomic<int> writes = 0;
  const RawServer server([&](int fd, const std::string& request) {
    if (answer_login(fd, request)) return;
    if (request.starts_with("PUT")) ++writes;
  });
  Options options = options_for(server);
  options.connect_retries = 3;
  // On a slow machine already the login may be over its time: it is given more.
  Error error{Errc::unavailable, ""};
  for (options.timeout_ms = 1'000; error.code == Errc::unavailable; options.timeout_ms *= 10) {
    PlacementBench bench(options);
    error = bench.set_reserved(kView, 0).error();
    EXPECT_THAT(error.what, ::testing::Not(HasSubstr("secret-token")));
  }
  EXPECT_EQ(error.code, Errc::unknown) << error.what;
  while (writes == 0) std::this_thread::yield();
  EXPECT_EQ(writes, 1);
}

TEST(ClientOnTheWire, AReadThatHangsIsUnavailable) {
  const RawServer server([](int fd, const std::string& request) { answer_login(fd, request); });
  Options options = options_for(server);
  options.timeout_ms = 1'000;
  PlacementBench bench(options);
  EXPECT_EQ(bench.read(kProvider).error().code, Errc::unavailable);
}

TEST(ClientOnTheWire, AWriteWithAHugeAnswerIsUnknown) {
  const RawServer server([](int fd, const std::string& request) {
    if (!answer_login(fd, request)) respond(fd, "200 OK", "", std::string(100'000, 'x'));
  });
  Options options = options_for(server);
  options.body_bytes_max = 10'000;
  PlacementBench bench(options);
  EXPECT_EQ(bench.set_reserved(kView, 0).error().code, Errc::unknown);
  EXPECT_EQ(bench.read(kProvider).error().code, Errc::limit);
}

}  // namespace
}  // namespace reclaim::testing
