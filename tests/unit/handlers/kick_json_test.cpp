// Reading without a document beside reading with one: both must take the same texts, and see the
// same in them.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>

#include "handlers/bus/json_members.h"
#include "state/base/json.h"
#include "state/base/rapidjson.h"
#include "tests/source_path.h"
#include "tests/test_seed.h"

namespace reclaim {
namespace {

using json::Token;

// Writes the parts again as RapidJSON would.
class Rewriter final : public json::Parts {
 public:
  void on(Token token, std::string_view text, std::size_t /*offset*/) override {
    const auto size = static_cast<rapidjson::SizeType>(text.size());
    switch (token) {
      case Token::object_begin:
        writer_.StartObject();
        break;
      case Token::object_end:
        writer_.EndObject();
        break;
      case Token::array_begin:
        writer_.StartArray();
        break;
      case Token::array_end:
        writer_.EndArray();
        break;
      case Token::key:
        writer_.Key(text.data(), size);
        break;
      case Token::string:
        writer_.String(text.data(), size);
        break;
      case Token::literal:
        if (text == "null") writer_.Null();
        if (text == "true") writer_.Bool(true);
        if (text == "false") writer_.Bool(false);
        break;
      case Token::number:
        numbers_.emplace_back(text);
        writer_.Null();
        break;
    }
  }
  [[nodiscard]] std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }
  [[nodiscard]] const std::vector<std::string>& numbers() const { return numbers_; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
  std::vector<std::string> numbers_;
};

// As what reads the bus does it.
Status read_paired(std::string_view text, json::Parts& parts) {
  std::string buffer;
  return json::read(json::pair_surrogates(text, buffer), parts);
}

bool scans(std::string_view text) {
  Rewriter parts;
  return read_paired(text, parts).ok();
}

TEST(JsonRead, TakesWhatIsJson) {
  for (const char* text :
       {"{}", "[]", " [ ] ", "0", "-0", "1.5e+10", "-12E-3", "\"\"", "true", "false", "null",
        R"({"a":{"b":[1,2,{"c":null}]},"d":"\"\\\/\b\f\n\r\t\u00e9"})",
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"",
        "[[],[[]],{}]"}) {
    EXPECT_TRUE(scans(text)) << text;
  }
}

TEST(JsonRead, RefusesWhatIsNot) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "]",
                           "{]",
                           "[}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[,1]",
                           "{,}",
                           "01",
                           "1.",
                           ".5",
                           "-",
                           "+1",
                           "1e",
                           "1e+",
                           "NaN",
                           "Infinity",
                           "nul",
                           "truee",
                           "\"",
                           "\"\\\"",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\u12\"",
                           "{a:1}",
                           "{'a':1}",
                           "[1 2]",
                           "{\"a\" 1}",
                           "[1]]",
                           "{}{}",
                           "\"\t\"",
                           "\"\xff\"",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf4\x90\x80\x80\"",
                           "\"\xe2\x82\"",
                           "\xef\xbb\xbf{}",
                           "/**/{}",
                           "[1]//"}) {
    EXPECT_FALSE(scans(text)) << text;
  }
}

TEST(JsonRead, DepthIsBounded) {
  EXPECT_TRUE(scans(std::string(json::kReadDepthMax, '[') + std::string(json::kReadDepthMax, ']')));
  EXPECT_FALSE(
      scans(std::string(json::kReadDepthMax + 1, '[') + std::string(json::kReadDepthMax + 1, ']')));
}

TEST(JsonRead, ErrorsSayWhere) {
  for (const auto& [text, why] : {std::pair{"[1, oops]", "Invalid value at byte 4"},
                                  {"", "an empty text at byte 0"},
                                  {"{}{}", "more text after the end of the value at byte 2"},
                                  {"\"\t\"", "a control character in a string at byte"},
                                  {"[\"\xc3\"]", "bytes that are not UTF-8 at byte 2"}}) {
    Rewriter parts;
    const Status read = json::read(text, parts);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().what.find(why), 0U) << read.error().what;
  }
}

TEST(JsonRead, ANulEndsNoText) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text : {"{}\0"sv, "{}\0{}"sv, "\0{}"sv, "[\"\0\"]"sv, "[1\0]"sv}) {
    EXPECT_FALSE(scans(text));
  }
}

TEST(JsonRead, UndoesAppend) {
  std::mt19937 random(test_seed());
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += static_cast<char>(random() % 128);
    std::string object = "{\"a\": ";
    json::append_string(text, object);
    JsonMember member;
    const JsonPick picks[] = {{"a", &member}};
    ASSERT_TRUE(pick_members(object + "}", "it", picks).ok());
    EXPECT_EQ(member.text, text);
  }
}

TEST(JsonRead, Surrogates) {
  JsonMember member;
  const JsonPick picks[] = {{"a", &member}};
  std::string buffer;
  const std::string_view paired = json::pair_surrogates(
      R"({"a": "\ud83d\ude00|\ud800|\ude00\uD83D|\ud800\u0041|\u00e9\u20ac|\\ud800"})", buffer);
  ASSERT_TRUE(pick_members(paired, "it", picks).ok());
  EXPECT_EQ(member.text,
            "\xf0\x9f\x98\x80|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd"
            "A|\xc3\xa9\xe2\x82\xac|\\ud800");
}

TEST(JsonRead, PicksTheFirstOfEachAndTheTextOfObjects) {
  JsonMember a;
  JsonMember inner;
  JsonMember absent;
  const JsonPick inside[] = {{"b", &inner}, {"z", &absent}};
  const JsonPick picks[] = {{"_x.data", &a, true, inside}};
  const std::string text =
      R"({"z": 1, "c": {"my_x.data": 1}, "my_x.data": {"c": [{"b": 2}], "b": "here", "b": 3}, )"
      R"("her_x.data": {"b": "there"}, "_x.data": null})";
  ASSERT_TRUE(pick_members(text, "it", picks).ok());
  EXPECT_EQ(a.span, R"({"c": [{"b": 2}], "b": "here", "b": 3})");
  EXPECT_EQ(a.kind(), "an object");
  EXPECT_EQ(inner.text, "here");
  EXPECT_EQ(absent.kind(), "absent");
}

// Numbers are compared as they are written: a document knows only their value.
std::string without_numbers(const rapidjson::Value& value) {
  rapidjson::Document out;
  out.CopyFrom(value, out.GetAllocator());
  const auto strip = [](auto& self, rapidjson::Value& at) -> void {
    if (at.IsNumber()) at.SetNull();
    if (at.IsArray()) {
      for (auto& each : at.GetArray()) self(self, each);
    }
    if (at.IsObject()) {
      for (auto& each : at.GetObject()) self(self, each.value);
    }
  };
  strip(strip, out);
  return json::to_text(out);
}

TEST(JsonRead, SeesWhatADocumentHoldsInTheRecordedTraffic) {
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const auto document = json::parse(line, 1U << 20U);
    ASSERT_TRUE(document.ok());
    const std::string body = (*document)["body"].GetString();
    const std::string message = *json::get_string(*json::parse(body, 1U << 20U), "oslo.message");
    for (const std::string& text : {line, body, message}) {
      Rewriter parts;
      ASSERT_TRUE(read_paired(text, parts).ok());
      EXPECT_EQ(parts.text(), without_numbers(*json::parse(text, 1U << 20U)));
      for (const std::string& number : parts.numbers()) {
        EXPECT_TRUE(json::parse(number, 100).ok()) << number;
      }
    }
  }
  EXPECT_EQ(lines, 384);
}

TEST(JsonRead, AgreesWithRapidJsonOnDamagedTexts) {
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  std::mt19937 random(test_seed());
  const std::string bytes = "{}[]\":,\\u0e1tfn \n\t-+.Ed\x80\xc3\xff";
  int accepted = 0;
  for (std::string line; std::getline(in, line);) {
    for (int round = 0; round < 12; ++round) {
      std::string text = line.substr(0, 200 + random() % 400);
      if (round % 3 == 0) text = line;
      for (auto i = random() % 3; i > 0; --i) {
        text[random() % text.size()] = bytes[random() % bytes.size()];
      }
      // The one thing we let through and RapidJSON does not.
      if (text.find("\\ud") != std::string::npos || text.find("\\uD") != std::string::npos)
        continue;
      EXPECT_EQ(scans(text), json::parse(text, 1U << 20U).ok()) << text;
      accepted += scans(text) ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace reclaim
