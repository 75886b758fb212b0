// What may be kept of a message that could not be used: never a request's context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>

#include "handlers/bus/notification.h"
#include "state/base/json.h"
#include "tests/source_path.h"
#include "tests/test_seed.h"
#include "tests/unit/handlers/kick_messages.h"

namespace reclaim {
namespace {

using reclaim::testing::enveloped;
using reclaim::testing::legacy_payload;
using reclaim::testing::message;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kMax = 65536;

void expect_clean(const std::string& body) {
  for (const std::string& kept :
       {clean_for_storage(body, kMax), clean_for_storage(body, 64), safe_excerpt(body, 300)}) {
    EXPECT_THAT(kept, Not(HasSubstr("secret"))) << body;
    EXPECT_THAT(kept, Not(HasSubstr("_context"))) << body;
    EXPECT_LE(kept.size(), std::max<std::size_t>(2 * body.size() + 200, 300));
  }
  EXPECT_TRUE(json::parse(clean_for_storage(body, kMax), 1U << 20U).ok()) << body;
}

TEST(Storage, KeepsTheMessageAndDropsItsContext) {
  const std::string kept = clean_for_storage(
      enveloped(message("instance.delete.end", "nova-compute:cmp1", legacy_payload("17"))), kMax);
  const auto outer = json::parse(kept, kMax);
  ASSERT_TRUE(outer.ok());
  EXPECT_EQ(*json::get_string(*outer, "oslo.version"), "2.0");
  const auto inner = json::parse(*json::get_string(*outer, "oslo.message"), kMax);
  ASSERT_TRUE(inner.ok()) << kept;
  EXPECT_EQ(*json::get_string(*inner, "event_type"), "instance.delete.end");
  EXPECT_EQ(*json::get_int(*json::find(*inner, "payload"), "host"), 17);
  EXPECT_THAT(kept, Not(HasSubstr("_context")));
  EXPECT_THAT(kept, Not(HasSubstr("secret")));
}

TEST(Storage, ContextHasManyPlacesToHide) {
  for (const char* text : {
           R"({"_context_auth_token": "secret"})",
           R"({"\u005fcontext_auth_token": "secret"})",
           R"({"a": 1, "_context_x": {"b": ["secret"]}, "c": [1, {"_context_y": "secret"}]})",
           R"({"a": "{\"_context_auth_token\": \"secret\"}"})",
           R"({"a": "{\"\\u005fcontext_auth_token\": \"secret\"}"})",
           R"({"oslo.version": "2.0", "oslo.message": "{\"_context_auth_token\": \"secret"})",
           R"({"oslo.version": "2.0", "oslo.message": "{\"\\u005fcontext_a\": \"secret\", "})",
           R"({"_context_auth_token": "secret", )",
           R"({"event_type": "x", "\u005f\u0063ontext_auth_token": "secret")",
           R"({"event_type": "x", '_context_auth_token': 'secret'})",
           R"(n": "secret", "event_type": "x"})",
           "\x1f\x8b secret",
       }) {
    expect_clean(text);
  }
  expect_clean(message("x", "y", "[}"));
  expect_clean(enveloped(message("x", "y", "[}")));
  expect_clean(enveloped(enveloped(message("x", "y", "{}"))));
}

TEST(Storage, OfTwoMessagesTheFirstIsKept) {
  const std::string kept =
      clean_for_storage(R"({"oslo.version": "3", "oslo.message": "{\"a\": 1}", )"
                        R"("oslo.message": "{\"_context_b\": 2}"})",
                        kMax);
  const auto outer = json::parse(kept, kMax);
  ASSERT_TRUE(outer.ok()) << kept;
  EXPECT_EQ(*json::get_string(*outer, "oslo.message"), R"({"a": 1})");
  EXPECT_THAT(kept, Not(HasSubstr("_context")));
}

TEST(Storage, EveryTruncationIsClean) {
  const std::string body = enveloped(message("x", "y", "{}"));
  for (std::size_t size = 0; size <= body.size(); ++size) expect_clean(body.substr(0, size));
}

TEST(Storage, DamagedTextsStayClean) {
  const std::string body = enveloped(message("x", "y", "{}"));
  std::mt19937 random(test_seed());
  const std::string bytes = "{}[]\":,\\u";
  const std::size_t name = body.find("_context");
  for (int round = 0; round < 3000; ++round) {
    std::string text = body;
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = random() % name;  // the names themselves stay whole
      text[at] = bytes[random() % bytes.size()];
    }
    expect_clean(text);
  }
}

TEST(Storage, RecordedTrafficLosesItsContextOnly) {
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const auto document = json::parse(line, 1U << 20U);
    const std::string kept = clean_for_storage((*document)["body"].GetString(), kMax);
    EXPECT_THAT(kept, Not(HasSubstr("_context")));
    EXPECT_THAT(kept, HasSubstr("event_type"));
    EXPECT_THAT(kept, Not(HasSubstr("reclaim_")));
    EXPECT_TRUE(json::parse(kept, kMax).ok());
  }
}

TEST(Storage, WhatIsTooLongKeepsAnExcerpt) {
  const std::string body = R"({"event_type": "x", "payload": ")" + std::string(100000, 'p') + "\"}";
  const std::string kept = clean_for_storage(body, kMax);
  EXPECT_LT(kept.size(), 2000U);
  EXPECT_THAT(kept, HasSubstr("reclaim_excerpt"));
  EXPECT_THAT(kept, HasSubstr("event_type"));
}

}  // namespace
}  // namespace reclaim
