// The HTTP server over real sockets: what clients get that keep the rules, and curl as a witness.
#include "listener/http/server.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/http_fixture.h"

namespace reclaim::listener {
namespace {

using reclaim::testing::curl;
using reclaim::testing::eventually;
using reclaim::testing::HttpTest;
using reclaim::testing::Ran;
using reclaim::testing::run;
using reclaim::testing::Wire;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(HttpTest, AGetIsAnsweredByTheHandler) {
  serve(options());
  const Ran got = curl("-i -H 'X-Thing: 7' '" + url() + "/v2/devices?type=NVME'");
  EXPECT_EQ(got.code, 0);
  EXPECT_THAT(got.output, StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_THAT(got.output, HasSubstr("\r\nX-Openstack-Request-Id: req-"));
  EXPECT_THAT(got.output, HasSubstr("\r\nContent-Length: "));
  EXPECT_THAT(got.output, HasSubstr("GET /v2/devices?type=NVME of " + url() + " []"));
}

TEST_F(HttpTest, TheHandlerMayAnswerLater) {
  serve(options());
  EXPECT_THAT(curl(url() + "/later?ms=50").output, HasSubstr("GET /later?ms=50"));
  EXPECT_EQ(server_counters().requests, 1U);
}

TEST_F(HttpTest, AConnectionServesOneRequestAfterTheOther) {
  serve(options());
  const Ran got = curl("-w '%{num_connects};' '" + url() + "/a' '" + url() + "/b'");
  EXPECT_THAT(got.output, HasSubstr("1;GET /b of " + url() + " []\n0;"));
  EXPECT_EQ(server_counters().connections, 1U);
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  serve(options());
  Wire wire = Wire::tcp(port());
  std::string all;
  for (int i = 0; i < 200; ++i) {
    // Every seventh is answered late, by a timer; the ones behind it have to wait for it.
    all += "GET /" + std::string(i % 7 == 0 ? "later?ms=2&" : "now?") + "n=" + std::to_string(i) +
           " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  ASSERT_TRUE(wire.say(all));
  for (int i = 0; i < 200; ++i) {
    EXPECT_THAT(wire.hear_answer(), HasSubstr("n=" + std::to_string(i) + " of http://x []"));
  }
  EXPECT_EQ(server_counters().connections, 1U);
}

TEST_F(HttpTest, HeadIsAnsweredLikeGetWithoutABody) {
  serve(options());
  const Ran got = curl("-I '" + url() + "/v2/devices'");
  EXPECT_EQ(got.code, 0);
  EXPECT_THAT(got.output, AllOf(StartsWith("HTTP/1.1 200 OK"), Not(HasSubstr("GET /"))));
  const std::string body = "GET /v2/devices of " + url() + " []\n";
  EXPECT_THAT(got.output, HasSubstr("Content-Length: " + std::to_string(body.size()) + "\r\n"));
}

TEST_F(HttpTest, AnAnswerWithoutABodyHasNoLength) {
  serve(options());
  EXPECT_THAT(curl("-i '" + url() + "/status?204'").output,
              AllOf(StartsWith("HTTP/1.1 204 No Content"), Not(HasSubstr("Content-Length"))));
  // 202 has one, if empty.
  EXPECT_THAT(curl("-i '" + url() + "/status?202'").output, HasSubstr("Content-Length: 0\r\n"));
}

TEST_F(HttpTest, BodiesComeByLengthOrInChunks) {
  serve(options());
  EXPECT_THAT(curl("-d 'a=1' '" + url() + "/x'").output,
              HasSubstr("POST /x of " + url() + " [a=1]"));
  EXPECT_THAT(curl("-H 'Transfer-Encoding: chunked' -d 'a=2' '" + url() + "/x'").output,
              HasSubstr("[a=2]"));
  EXPECT_THAT(curl("-X PATCH -d 'a=3' '" + url() + "/x'").output, HasSubstr("PATCH /x"));
}

TEST_F(HttpTest, AClientThatAsksIsToldToContinue) {
  serve(options());
  const Ran got = curl("-v -H 'Expect: 100-continue' -d 'body' '" + url() + "/x'");
  EXPECT_THAT(got.output, AllOf(HasSubstr("< HTTP/1.1 100 Continue"), HasSubstr("[body]")));
  // Not before the answers to what it asked earlier, and not when it did not wait.
  Wire wire = Wire::tcp(port());
  ASSERT_TRUE(
      wire.say("GET /later?ms=30 HTTP/1.1\r\nHost: x\r\n\r\n"
               "POST /y HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
               "Content-Length: 2\r\n\r\n"));
  EXPECT_THAT(wire.hear_answer(), HasSubstr("GET /later"));
  EXPECT_EQ(wire.hear_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(
      wire.say("ok"
               "POST /z HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
               "Content-Length: 2\r\n\r\nok"));
  EXPECT_THAT(wire.hear_answer(), HasSubstr("POST /y of http://x [ok]"));
  EXPECT_THAT(wire.hear_answer(), HasSubstr("POST /z of http://x [ok]"));
}

TEST_F(HttpTest, Http10IsAcceptedAndClosedUnlessAsked) {
  serve(options());
  Wire wire = Wire::tcp(port());
  ASSERT_TRUE(
      wire.say("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
               "GET /b HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(wire.hear_answer(), AllOf(HasSubstr("\r\nConnection: keep-alive\r\n"),
                                        // It names no host: the links lead to where it came.
                                        HasSubstr("GET /a of " + url())));
  EXPECT_THAT(wire.hear_all(), AllOf(HasSubstr("\r\nConnection: close\r\n"), HasSubstr("GET /b"),
                                     Not(HasSubstr("RESET"))));
}

TEST_F(HttpTest, AClientThatHalfClosesGetsItsAnswer) {
  serve(options());
  Wire wire = Wire::tcp(port());
  ASSERT_TRUE(wire.say("GET /later?ms=30 HTTP/1.1\r\nHost: x\r\n\r\n"));
  wire.end();
  EXPECT_THAT(wire.hear_all(), ::testing::EndsWith("GET /later?ms=30 of http://x []\n"));
  EXPECT_TRUE(eventually([&] { return connections() == 0; }));
}

TEST_F(HttpTest, AnUpgradeIsNotTakenUp) {
  serve(options());
  const Ran got = curl("--http2 -i '" + url() + "/x'");
  EXPECT_THAT(got.output, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("GET /x")));
}

TEST_F(HttpTest, LargeAnswersArriveWhole) {
  serve(options());
  const Ran got = curl("'" + url() + "/large?bytes=20000000' | wc -c");
  EXPECT_EQ(std::stoul(got.output), 20'000'000U);
}

TEST_F(HttpTest, AnswersBeyondWhatMayWaitAreRefused) {
  HttpServerOptions small = options();
  small.answer_bytes_max = 100'000;
  serve(small);
  EXPECT_THAT(curl("-i '" + url() + "/large?bytes=100001'").output,
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("faultstring")));
  EXPECT_THAT(curl("-i '" + url() + "/large?bytes=90000'").output, StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpTest, RequestIdsAreOursAndTheClientsIsOnlyTheGlobalOne) {
  serve(options());
  const std::string theirs = "req-11111111-2222-3333-4444-555555555555";
  const Ran got = curl("-i -H 'X-Openstack-Request-Id: " + theirs + "' '" + url() + "/id'");
  EXPECT_THAT(got.output, Not(HasSubstr(theirs)));
  // The handler is given the same id that the client gets.
  const std::size_t at = got.output.find("X-Openstack-Request-Id: ") + 24;
  EXPECT_THAT(got.output.substr(got.output.find("\r\n\r\n")), HasSubstr(got.output.substr(at, 40)));
  EXPECT_THAT(log().text(), HasSubstr("global_request_id=" + theirs));
  static_cast<void>(curl("-H 'X-Openstack-Request-Id: req-forged id' '" + url() + "/id'"));
  EXPECT_THAT(log().text(), Not(HasSubstr("forged")));
}

TEST_F(HttpTest, TheAccessLogTellsTheQueryAndNoSecret) {
  serve(options());
  static_cast<void>(curl("-H 'X-Auth-Token: gAAAAsecret' -d 'hunter2' '" + url() + "/who?a=\"b'"));
  ASSERT_TRUE(eventually([&] { return log().text().find("/who") != std::string::npos; }));
  EXPECT_THAT(log().text(),
              ::testing::ContainsRegex("reclaim.http 127.0.0.1 \"POST /who\\?a=\\\\x22b HTTP/1.1\" "
                                       "status: 200 len: [0-9]+ time: [0-9]+\\.[0-9]+ "
                                       "request_id=req-.* user=u1 project=p1"));
  EXPECT_THAT(log().text(), AllOf(Not(HasSubstr("secret")), Not(HasSubstr("hunter2"))));
}

TEST_F(HttpTest, SpeaksTlsOnTcp) {
  make_certificate();
  HttpServerOptions wanted = options();
  wanted.tls_cert_file = cert_file();
  wanted.tls_key_file = key_file();
  wanted.unix_socket = folder() / "api.sock";
  serve(wanted);
  const std::string trust = "--cacert " + cert_file() + " ";
  EXPECT_THAT(url(), StartsWith("https://"));
  EXPECT_THAT(curl(trust + "'" + url() + "/a' -d x").output, HasSubstr("POST /a of " + url()));
  EXPECT_THAT(curl(trust + "--tls-max 1.2 '" + url() + "/a'").output, HasSubstr("GET /a"));
  EXPECT_EQ(curl(trust + "'" + url() + "/large?bytes=5000000' | wc -c").output, "5000000\n");
  const Ran twice = curl(trust + "-w '%{num_connects};' '" + url() + "/a' '" + url() + "/b'");
  EXPECT_THAT(twice.output, HasSubstr("\n0;"));
  // Older TLS is refused, and so is a client that does not trust us, by itself. Where only
  // OpenSSL's security level stood against it, the alert would be another one.
  const Ran old = curl(trust + "--tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0 '" + url() + "/a'");
  EXPECT_EQ(old.code, 35);
  EXPECT_THAT(old.output, HasSubstr("alert protocol version"));
  EXPECT_EQ(curl("'" + url() + "/a'").code, 60);
  // Plain HTTP is told so; the unix socket is plain.
  const std::string plain = "http://127.0.0.1:" + std::to_string(port());
  EXPECT_THAT(curl("-i " + plain + "/a").output,
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("speaks TLS")));
  EXPECT_THAT(curl("--unix-socket " + wanted.unix_socket + " http://localhost/u").output,
              HasSubstr("GET /u of http://localhost"));
}

TEST_F(HttpTest, ReadsARotatedCertificateAnew) {
  make_certificate();
  HttpServerOptions wanted = options();
  wanted.tls_cert_file = cert_file();
  wanted.tls_key_file = key_file();
  serve(wanted);
  const std::string former = folder() / "former.pem";
  std::filesystem::copy_file(cert_file(), former);
  const auto trusts = [&](const std::string& cert) {
    return curl("--cacert " + cert + " '" + url() + "/a'").code == 0;
  };
  // Half of a rotation: the new key beside the former certificate.
  make_certificate();
  std::filesystem::rename(cert_file(), folder() / "new.pem");
  std::filesystem::copy_file(former, cert_file());
  EXPECT_THAT(reload_tls(), HasSubstr("does not belong"));
  EXPECT_TRUE(trusts(former));
  std::filesystem::rename(folder() / "new.pem", cert_file());
  EXPECT_FALSE(trusts(cert_file()));
  EXPECT_EQ(reload_tls(), "");
  EXPECT_TRUE(trusts(cert_file()));
  EXPECT_FALSE(trusts(former));
}

TEST_F(HttpTest, WhatIsWrongWithACertificateNamesTheFile) {
  make_certificate();
  HttpServerOptions wanted = options();
  wanted.tls_cert_file = cert_file();
  EXPECT_THAT(refusal(wanted), HasSubstr("both"));
  wanted.tls_key_file = folder() / "missing.key";
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr(wanted.tls_key_file), HasSubstr("No such file")));
  wanted.tls_key_file = cert_file();
  EXPECT_THAT(refusal(wanted), HasSubstr("TLS key " + cert_file()));
  wanted.tls_key_file = key_file();
  wanted.tls_cert_file = key_file();
  EXPECT_THAT(refusal(wanted), HasSubstr("TLS certificate " + key_file()));
  ASSERT_EQ(run("openssl ec -in " + key_file() + " -aes128 -passout pass:x -out " +
                (folder() / "locked.key"))
                .code,
            0);
  wanted.tls_cert_file = cert_file();
  wanted.tls_key_file = folder() / "locked.key";
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr("locked.key"), HasSubstr("pass phrase")));
  ASSERT_EQ(
      run("openssl ecparam -name prime256v1 -genkey -noout -out " + (folder() / "other.key")).code,
      0);
  wanted.tls_key_file = folder() / "other.key";
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr("other.key"), HasSubstr("does not belong")));
}

TEST_F(HttpTest, ServesAUnixSocketOfTheModeAskedFor) {
  HttpServerOptions wanted = options();
  wanted.bind.clear();
  wanted.unix_socket = folder() / "api.sock";
  wanted.unix_socket_mode = 0660;
  serve(wanted);
  struct stat found {};
  ASSERT_EQ(stat(wanted.unix_socket.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0660U);
  EXPECT_EQ(addresses(), std::vector<std::string>{"unix:" + wanted.unix_socket});
  const std::string over = "--unix-socket " + wanted.unix_socket + " ";
  EXPECT_THAT(curl(over + "http://localhost/u").output, HasSubstr("GET /u of http://localhost []"));
  EXPECT_THAT(log().text(), HasSubstr("reclaim.http unix \"GET /u"));
  // Somebody listens there: a second server must not take it away.
  EXPECT_THAT(refusal(wanted), HasSubstr(wanted.unix_socket + ": address already in use"));
  EXPECT_THAT(curl(over + "http://localhost/u").output, HasSubstr("GET /u"));
  stop();
  EXPECT_NE(stat(wanted.unix_socket.c_str(), &found), 0);
}

TEST_F(HttpTest, OnlyASocketThatNobodyListensOnIsReplaced) {
  HttpServerOptions wanted = options();
  wanted.bind.clear();
  wanted.unix_socket = folder() / "api.sock";
  ASSERT_EQ(run("/usr/bin/python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('" +
                wanted.unix_socket + "')\"")
                .code,
            0);
  serve(wanted);
  EXPECT_THAT(curl("--unix-socket " + wanted.unix_socket + " http://localhost/u").output,
              HasSubstr("GET /u"));
  stop();
  ASSERT_EQ(run("echo kept > " + wanted.unix_socket).code, 0);
  EXPECT_THAT(refusal(wanted), HasSubstr("it exists and is not a socket"));
  EXPECT_EQ(run("cat " + wanted.unix_socket).output, "kept\n");
  wanted.unix_socket = "relative.sock";
  EXPECT_THAT(refusal(wanted), HasSubstr("absolute path"));
  wanted.unix_socket = folder() / "no/such/folder.sock";
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr(wanted.unix_socket), HasSubstr("No such file")));
}

TEST_F(HttpTest, ASocketOfAnotherUserIsLeftAndOursGetsItsGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  HttpServerOptions wanted = options();
  wanted.bind.clear();
  wanted.unix_socket = folder() / "door.sock";
  wanted.unix_socket_mode = 0660;
  wanted.unix_socket_group = 12'345;
  ASSERT_EQ(run("/usr/bin/python3 -c \"import os, socket; p = '" + wanted.unix_socket +
                "'; socket.socket(socket.AF_UNIX).bind(p); os.chown(p, 4321, -1)\"")
                .code,
            0);
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr("another user (uid 4321)"), HasSubstr("remove it")));
  ASSERT_EQ(unlink(wanted.unix_socket.c_str()), 0);
  serve(wanted);
  struct stat found {};
  ASSERT_EQ(stat(wanted.unix_socket.c_str(), &found), 0);
  EXPECT_EQ(found.st_gid, 12'345U);
  EXPECT_EQ(found.st_mode & 07777, 0660U);
}

TEST_F(HttpTest, ListensOnEveryAddressGiven) {
  HttpServerOptions wanted = options();
  wanted.bind = {"127.0.0.1:0", "127.0.0.2:0", "[::1]:0"};
  if (refusal(wanted) != "it was made") wanted.bind.pop_back();  // a machine without IPv6
  serve(wanted);
  ASSERT_EQ(addresses().size(), wanted.bind.size());
  for (const std::string& address : addresses()) {
    EXPECT_THAT(curl("-g '" + address + "/a'").output, HasSubstr("GET /a of " + address + " []"));
    EXPECT_THAT(curl("-g --http1.0 -H Host: '" + address + "/b'").output,
                HasSubstr("GET /b of " + address + " []"));
  }
}

TEST_F(HttpTest, AnAddressThatCannotBeListenedOnIsNamed) {
  serve(options());
  HttpServerOptions wanted = options();
  for (const std::string bad : {"localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000",
                                "127.0.0.1:1x", "::1:80", "[::1]", "[127.0.0.1]:80", ":80", ""}) {
    wanted.bind = {bad};
    EXPECT_THAT(refusal(wanted), HasSubstr("'" + bad + "'")) << bad;
  }
  wanted.bind = {"127.0.0.1:" + std::to_string(port())};
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr(wanted.bind[0]), HasSubstr("in use")));
  wanted.bind = {"192.0.2.1:0"};
  EXPECT_THAT(refusal(wanted), AllOf(HasSubstr(wanted.bind[0]), HasSubstr("assign")));
}

TEST_F(HttpTest, StopFinishesWhatIsBeingAnsweredAndClosesTheRest) {
  serve(options());
  Wire idle = Wire::tcp(port());
  Wire half = Wire::tcp(port());
  Wire asked = Wire::tcp(port());
  ASSERT_TRUE(half.say("GET /half HTTP/1.1\r\n"));
  ASSERT_TRUE(asked.say("GET /held HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return held() == 1 && connections() == 3; }));
  begin_stop();
  EXPECT_EQ(idle.hear_all(), "");
  EXPECT_THAT(half.hear_all(), Not(HasSubstr("HTTP/1.1 2")));
  EXPECT_FALSE(stopped());
  release_held();
  EXPECT_THAT(asked.hear_all(),
              AllOf(HasSubstr("200 OK"), HasSubstr("Connection: close"), HasSubstr("GET /held")));
  EXPECT_TRUE(eventually([&] { return stopped(); }));
  EXPECT_EQ(curl("'" + url() + "/x'").code, 7);
}

TEST_F(HttpTest, StopDoesNotWaitForEver) {
  serve(options());
  Wire asked = Wire::tcp(port());
  ASSERT_TRUE(asked.say("GET /held HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return held() == 1; }));
  begin_stop();
  EXPECT_EQ(asked.hear_all(), "");
  EXPECT_TRUE(eventually([&] { return stopped(); }));
  release_held();  // to nobody
}

TEST_F(HttpTest, AnAnswerMayComeAfterTheServerIsGone) {
  serve(options());
  Wire asked = Wire::tcp(port());
  ASSERT_TRUE(asked.say("GET /held HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return held() == 1; }));
  destroy();
  EXPECT_EQ(asked.hear_all(), "");
  release_held();
}

}  // namespace
}  // namespace reclaim::listener
