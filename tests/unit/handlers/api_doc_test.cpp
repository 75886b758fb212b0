// The pages of the device API (docs/device-api*.md) against the code: their examples are the golden
// files, their rules the defaults.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "handlers/api/policy.h"
#include "handlers/api/version.h"
#include "state/base/json.h"
#include "state/base/rapidjson.h"
#include "tests/source_path.h"

namespace reclaim::api {
namespace {

using ::testing::HasSubstr;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string pages() {
  std::string text;
  for (const char* name : {"device-api", "device-api-reference", "device-api-orders"}) {
    text += read(source_path(fmt::format("docs/{}.md", name)));
  }
  return text;
}

std::string pretty(const std::string& text) {
  const auto parsed = json::parse(text, 1U << 20U);
  if (!parsed) return parsed.error().what;
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 2);
  parsed->Accept(writer);
  return buffer.GetString();
}

// Each example stands in a block behind "<!-- FILE -->", indented as people read it.
TEST(ApiDocTest, EveryExampleIsTheAnswerOfTheGoldenFileItNames) {
  const std::string text = pages();
  const std::string mark = "<!-- tests/data/api/";
  int examples = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t name_at = at + mark.size();
    const std::string name = text.substr(name_at, text.find(" -->", name_at) - name_at);
    const std::size_t begin = text.find("```json\n", at) + 8;
    const std::string example = text.substr(begin, text.find("\n```", begin) - begin);
    EXPECT_EQ(example, pretty(read(source_path("tests/data/api/") + name))) << name;
    examples += 1;
  }
  EXPECT_GE(examples, 5);
}

TEST(ApiDocTest, EveryRuleOfTheApiStandsThereWithItsDefault) {
  const std::string text = pages();
  const Policy defaults = Policy::defaults();
  for (const auto& [name, rule] : defaults.texts()) {
    if (!name.starts_with("cyborg:") && !name.starts_with("reclaim:")) continue;
    EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` | `{}` |", name, rule)));
  }
  EXPECT_THAT(text,
              HasSubstr(fmt::format("{} to {}", to_string(kVersionMin), to_string(kVersionMax))));
}

}  // namespace
}  // namespace reclaim::api
