// Envelopes and payloads, well-formed and not: what is accepted, what is rejected and with what
// words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/bus/kick.h"
#include "tests/unit/handlers/kick_messages.h"

namespace reclaim {
namespace {

using reclaim::testing::enveloped;
using reclaim::testing::legacy_payload;
using reclaim::testing::message;
using reclaim::testing::versioned_payload;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Decision decide_body(std::string_view body) {
  KickDecider decider;
  Decision fast = decider.decide_fast(body);
  Decision exact = decider.decide_exact(body);
  if (fast.verdict != Verdict::ignore) {
    EXPECT_EQ(fast.verdict, exact.verdict) << body;
  }
  return exact;
}

const std::string kGood =
    message("instance.delete.end", "nova-compute:cmp1", versioned_payload("\"cmp1\""));

void expect_kick(std::string_view body) {
  const Decision decision = decide_body(body);
  EXPECT_EQ(decision.verdict, Verdict::kick) << decision.why << "\n" << body;
  EXPECT_THAT(decision.hosts, ElementsAre("cmp1")) << body;
}

void expect_reject(std::string_view body, const std::string& why) {
  const Decision decision = decide_body(body);
  EXPECT_EQ(decision.verdict, Verdict::reject) << body.substr(0, 500);
  EXPECT_THAT(decision.why, HasSubstr(why)) << body.substr(0, 500);
  EXPECT_THAT(decision.why, Not(HasSubstr("secret")));
}

TEST(Decode, EnvelopeAndBare) {
  expect_kick(enveloped(kGood));
  expect_kick(kGood);
  expect_kick("\n\t " + enveloped(kGood) + " \r\n");
}

TEST(Decode, KeyOrderDoesNotMatter) {
  std::string inner;
  json::append_string(kGood, inner);
  expect_kick(R"({"oslo.message": )" + inner + R"(, "oslo.version": "2.0"})");
  expect_kick(R"({"x": [1, {"oslo.version": 7}], "oslo.message": )" + inner +
              R"(, "event_type": "instance.update", "oslo.version": "2.0"})");
  expect_kick(enveloped(R"({"payload": )" + versioned_payload("\"cmp1\"") +
                        R"(, "event_type": "instance.delete.end", "publisher_id": "nova-api:a"})"));
}

TEST(Decode, EscapesAreLegalAnywhere) {
  expect_kick(enveloped(R"({"\u0065vent_type": "instance.d\u0065lete.end", "publisher_id": )"
                        R"("nova-compute:c\u006dp1", "p\u0061yload": )" +
                        versioned_payload("\"cm\\u0070\\u0031\"") + "}"));
  std::string inner;
  json::append_string(kGood, inner);
  expect_kick(R"({"oslo\u002eversion": "\u0032.0", "oslo.messag\u0065": )" + inner + "}");
  // The same one level out: every quote of the message spelled \u0022.
  std::string spelled = R"({"oslo.version": "2.0", "oslo.message": ")";
  for (const char c : kGood) {
    if (c == '"') {
      spelled += "\\u0022";
    } else {
      spelled += c;
    }
  }
  expect_kick(spelled + "\"}");
}

TEST(Decode, OnlyTheMessagesOwnEventTypeCounts) {
  const Decision decision = decide_body(enveloped(
      R"({"publisher_id": "nova-api:a", "payload": {"event_type": "instance.delete.end"}, )"
      R"("event_type": "instance.update"})"));
  EXPECT_EQ(decision.verdict, Verdict::ignore);
  EXPECT_EQ(decision.event_type, "instance.update");
  expect_reject(enveloped(R"({"payload": {"event_type": "instance.delete.end"}})"),
                "event_type is absent");
}

TEST(Decode, OfDuplicatesTheFirstCounts) {
  expect_kick(enveloped(R"({"event_type": "instance.delete.end", "event_type": "instance.update", )"
                        R"("publisher_id": "nova-compute:cmp1", "publisher_id": 7, "payload": )" +
                        versioned_payload("\"cmp1\"") + R"(, "payload": null})"));
  const Decision decision = decide_body(
      enveloped(R"({"event_type": "instance.update", "event_type": "instance.delete.end"})"));
  EXPECT_EQ(decision.verdict, Verdict::ignore);
}

TEST(Decode, EnvelopeVersions) {
  std::string inner;
  json::append_string(kGood, inner);
  const auto with = [&](const std::string& version) {
    return R"({"oslo.version": )" + version + R"(, "oslo.message": )" + inner + "}";
  };
  expect_kick(with("\"2.0\""));
  expect_reject(with("\"2.1\""), "envelope version '2.1' is not known");
  expect_reject(with("\"3.0\""), "envelope version '3.0' is not known");
  expect_reject(with("\"\""), "envelope version ''");
  expect_reject(with("2.0"), "oslo.version is a number");
  expect_reject(R"({"oslo.version": "2.0", "oslo.message": {"event_type": "x"}})",
                "oslo.message is an object");
  // Without both members it is not an envelope, as oslo.messaging has it.
  expect_reject(R"({"oslo.message": "{}"})", "event_type is absent");
}

TEST(Decode, PayloadVersionsAndNamespaces) {
  const auto with = [&](std::string_view version, std::string_view ns) {
    return enveloped(message("instance.delete.end", "nova-compute:cmp1",
                             versioned_payload("\"cmp1\"", version, ns)));
  };
  expect_kick(with("1.0", "nova"));
  expect_kick(with("1.99", "nova"));
  expect_kick(with("1.1", "cyborg"));
  expect_kick(with("1.1", "any_thing"));
  expect_reject(with("2.0", "nova"), "payload version '2.0' is not known");
  expect_reject(with("10.0", "nova"), "payload version '10.0' is not known");
  expect_reject(enveloped(message("instance.delete.end", "nova-compute:cmp1",
                                  R"({"nova_object.data": {"host": "cmp1"}})")),
                "object version is absent");
  expect_reject(enveloped(message("instance.delete.end", "nova-compute:cmp1",
                                  R"({"nova_object.data": [], "nova_object.version": "1.0"})")),
                "object data is a list");
}

TEST(Decode, WrongTypesSayWhich) {
  const auto with = [](std::string_view host) {
    return enveloped(message("instance.delete.end", "nova-compute:cmp1", legacy_payload(host)));
  };
  expect_reject(with("17"), "host is a number");
  expect_reject(with("{\"a\": 1}"), "host is an object");
  expect_reject(with("false"), "host is a truth value");
  expect_reject(enveloped(message("instance.delete.end", "nova-compute:cmp1", "[]")),
                "payload is a list");
  expect_reject(enveloped(message("instance.delete.end", "nova-compute:cmp1", "null")),
                "payload is null");
  expect_reject(enveloped(R"({"event_type": "instance.delete.end"})"), "payload is absent");
  expect_reject(enveloped(R"({"event_type": null})"), "event_type is null");
  expect_reject(enveloped(R"({"event_type": ["instance.delete.end"]})"), "event_type is a list");
  expect_reject(
      enveloped(R"({"event_type": "instance.delete.end", "publisher_id": 1, "payload": {}})"),
      "publisher_id is a number");
  expect_reject(enveloped("{\"event_type\": \"" + std::string(300, 'e') + "\"}"), "300 bytes long");
}

TEST(Decode, EveryTruncationOfAKickIsRejected) {
  for (const std::string& body : {enveloped(kGood), kGood}) {
    KickDecider decider;
    for (std::size_t size = 0; size < body.size(); ++size) {
      const std::string_view cut = std::string_view(body).substr(0, size);
      EXPECT_EQ(decider.decide_exact(cut).verdict, Verdict::reject) << size;
      EXPECT_EQ(decider.decide_fast(cut).verdict, Verdict::reject) << size;
    }
  }
}

TEST(Decode, ADamagedTailOfNoInterestIsSeenByTheExactReadingOnly) {
  std::string body =
      enveloped(message("instance.update", "nova-compute:c", legacy_payload("null")));
  body.resize(body.size() / 2);
  KickDecider decider;
  EXPECT_EQ(decider.decide_fast(body).verdict, Verdict::ignore);
  EXPECT_EQ(decider.decide_exact(body).verdict, Verdict::reject);
}

TEST(Decode, MalformedTextsAreRejected) {
  expect_reject("", "not JSON: an empty text");
  expect_reject("null", "the body is null");
  expect_reject("[1, 2]", "the body is a list");
  expect_reject("\"text\"", "the body is a text");
  expect_reject("not json", "not JSON");
  expect_reject(enveloped(kGood) + "x", "more text after the end");
  expect_reject(enveloped(kGood) + std::string(1, '\0'), "more text after the end");
  expect_reject(enveloped("[]"), "the message is a list");
  expect_reject(enveloped(""), "the message is not JSON: an empty text");
  std::string bad_utf8 = kGood;
  bad_utf8.replace(bad_utf8.find("InstanceAction"), 4, "\xc0\xaf\xfe\xff");
  expect_reject(bad_utf8, "not UTF-8");
  std::string control = kGood;
  control[control.find("InstanceAction")] = '\n';
  expect_reject(control, "a control character");
}

TEST(Decode, AMillionLevelsAreRejectedWithoutRecursion) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 1000000; ++i) deep += bracket;
    expect_reject(deep, "512 levels");
    expect_reject(R"({"event_type": "instance.delete.end", "payload": )" + deep, "512 levels");
    expect_reject(enveloped(R"({"event_type": "instance.delete.end", "payload": )" + deep),
                  "512 levels");
  }
}

TEST(Decode, TheLimitOnTheBodyIsKept) {
  const std::string body = enveloped(kGood);
  KickDecider fits(body.size());
  EXPECT_EQ(fits.decide_fast(body).verdict, Verdict::kick);
  KickDecider small(body.size() - 1);
  for (const Decision& decision : {small.decide_fast(body), small.decide_exact(body)}) {
    EXPECT_EQ(decision.verdict, Verdict::reject);
    EXPECT_THAT(decision.why, HasSubstr("over the limit"));
  }
  const std::string update = enveloped(message("instance.update", "x", "{}"));
  EXPECT_EQ(KickDecider(10).decide_fast(update).verdict, Verdict::reject);
}

TEST(Decode, ABigMessageIsReadAndItsMemoryGivenBack) {
  const std::string payload =
      R"({"metadata": ")" + std::string(8U << 20U, 'm') + R"(", "host": "cmp1"})";
  expect_kick(enveloped(message("compute.instance.delete.end", "compute.cmp1", payload)));
}

TEST(Decode, CompressedBodiesAreNamed) {
  expect_reject("\x1f\x8b\x08", "compressed (gzip)");
  expect_reject("\x78\x9c\x01", "compressed (zlib)");
  expect_reject("BZh91AY", "compressed (bzip2)");
  expect_reject(
      "\xfd"
      "7zXZ",
      "compressed (xz)");
  expect_reject("\x28\xb5\x2f\xfd", "compressed (zstd)");
}

TEST(Decode, TheQuickLookAgreesOrSaysNothing) {
  using Decoder = NotificationDecoder;
  const auto update = message("instance.update", "nova-compute:c", "{}");
  EXPECT_EQ(Decoder::peek_event_type(enveloped(update)), "instance.update");
  EXPECT_EQ(Decoder::peek_event_type(" {\n\"oslo.version\" : \"2.0\" ,\t\"oslo.message\":\"{ "
                                     "\\\"event_type\\\" : \\\"a\\\""),
            "a");
  EXPECT_FALSE(Decoder::peek_event_type(update));  // bare: an envelope's members may yet follow
  EXPECT_FALSE(Decoder::peek_event_type(enveloped("{\"payload\": {}, \"event_type\": \"a\"}")));
  EXPECT_FALSE(Decoder::peek_event_type(enveloped("{\"event_type\": \"\\u0061\"}")));
  EXPECT_FALSE(Decoder::peek_event_type(enveloped("{\"\\u0065vent_type\": \"a\"}")));
  EXPECT_FALSE(Decoder::peek_event_type(
      "{\"oslo.version\":\"2.0\",\"oslo.message\":\"{\n\\\"event_type\\\":\\\"a\\\"}\"}"));
  EXPECT_FALSE(Decoder::peek_event_type(
      "{\"oslo.version\":\"2.1\",\"oslo.message\":\"{\\\"event_type\\\":\\\"a\\\"}\"}"));
  EXPECT_FALSE(Decoder::peek_event_type(""));
}

}  // namespace
}  // namespace reclaim
