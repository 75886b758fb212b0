// The scanner beside RapidJSON: both must take the same texts, and see the same in them.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>

#include "handlers/bus/json_scanner.h"
#include "state/base/json.h"
#include "state/base/rapidjson.h"

namespace reclaim {
namespace {

using Token = JsonScanner::Token;

bool scans(std::string_view text) {
  JsonScanner scanner(text);
  while (true) {
    const Token token = scanner.next();
    if (token == Token::end) return true;
    if (token == Token::error) return false;
  }
}

TEST(JsonScanner, TakesWhatIsJson) {
  for (const char* text :
       {"{}", "[]", " [ ] ", "0", "-0", "1.5e+10", "-12E-3", "\"\"", "true", "false", "null",
        R"({"a":{"b":[1,2,{"c":null}]},"d":"\"\\\/\b\f\n\r\t\u00e9"})",
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"",
        "[[],[[]],{}]"}) {
    EXPECT_TRUE(scans(text)) << text;
  }
}

TEST(JsonScanner, RefusesWhatIsNot) {
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

TEST(JsonScanner, DepthIsBounded) {
  EXPECT_TRUE(scans(std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']')));
  EXPECT_FALSE(scans(std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']')));
}

TEST(JsonScanner, ErrorsSayWhereAndStay) {
  JsonScanner scanner("[1, oops]");
  EXPECT_EQ(scanner.next(), Token::array_begin);
  EXPECT_EQ(scanner.next(), Token::number);
  EXPECT_EQ(scanner.next(), Token::error);
  EXPECT_EQ(scanner.error(), "no JSON value at byte 4");
  EXPECT_EQ(scanner.next(), Token::error);
}

TEST(JsonUnescape, UndoesAppend) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += static_cast<char>(random() % 128);
    std::string quoted;
    json_append_string(text, quoted);
    JsonScanner scanner(quoted);
    ASSERT_EQ(scanner.next(), Token::string);
    std::string back;
    json_unescape(scanner.raw(), back);
    EXPECT_EQ(back, text);
  }
}

TEST(JsonUnescape, Surrogates) {
  std::string out;
  json_unescape("\\ud83d\\ude00|\\ud800|\\ude00\\ud83d|\\ud800\\u0041|\\u00e9\\u20ac", out);
  EXPECT_EQ(out,
            "\xf0\x9f\x98\x80|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd"
            "A|\xc3\xa9\xe2\x82\xac");
}

// Writes the tokens again as RapidJSON would.
std::string rewrite(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  JsonScanner scanner(text);
  std::string value;
  for (Token token = scanner.next(); token != Token::end; token = scanner.next()) {
    const auto size = [&] { return static_cast<rapidjson::SizeType>(value.size()); };
    switch (token) {
      case Token::object_begin:
        writer.StartObject();
        break;
      case Token::object_end:
        writer.EndObject();
        break;
      case Token::array_begin:
        writer.StartArray();
        break;
      case Token::array_end:
        writer.EndArray();
        break;
      case Token::key:
        json_unescape(scanner.raw(), value);
        writer.Key(value.data(), size());
        break;
      case Token::string:
        json_unescape(scanner.raw(), value);
        writer.String(value.data(), size());
        break;
      case Token::literal:
        if (scanner.raw() == "null") writer.Null();
        if (scanner.raw() == "true") writer.Bool(true);
        if (scanner.raw() == "false") writer.Bool(false);
        break;
      case Token::number: {
        const auto number = json::parse(scanner.raw(), 100);
        number->Accept(writer);
        break;
      }
      default:
        return "error";
    }
  }
  return {buffer.GetString(), buffer.GetSize()};
}

TEST(JsonScanner, SeesWhatRapidJsonSeesInTheRecordedTraffic) {
  std::ifstream in(RECLAIM_TEST_DATA "/nova-2026.2/notifications.jsonl");
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const auto document = json::parse(line, 1U << 20U);
    ASSERT_TRUE(document.ok());
    EXPECT_EQ(rewrite(line), json::to_text(*document));
    const std::string body = (*document)["body"].GetString();
    EXPECT_EQ(rewrite(body), json::to_text(*json::parse(body, 1U << 20U)));
  }
  EXPECT_EQ(lines, 384);
}

TEST(JsonScanner, AgreesWithRapidJsonOnDamagedTexts) {
  std::ifstream in(RECLAIM_TEST_DATA "/nova-2026.2/notifications.jsonl");
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
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
