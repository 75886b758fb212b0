// `reclaim explain`: one line out for each line in, whatever the line is.
#include "cli/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "state/base/json.h"
#include "state/base/rapidjson.h"
#include "tests/source_path.h"
#include "tests/temp_folder.h"

namespace reclaim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> explain(const std::string& text, ExplainOptions options = {}) {
  std::istringstream in(text);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_explain(options, in, out, err), 0);
  EXPECT_EQ(err.str(), "");
  std::vector<std::string> lines;
  std::istringstream back(out.str());
  for (std::string line; std::getline(back, line);) lines.push_back(line);
  return lines;
}

constexpr const char* kDelete =
    R"({"event_type": "instance.delete.end", "publisher_id": "nova-compute:b", "payload": )"
    R"({"nova_object.version": "1.9", "nova_object.data": {"host": "a"}}})";

TEST(Explain, SaysWhatItWouldDo) {
  const auto lines = explain(std::string(kDelete) + "\n");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], StartsWith(R"({"event_type": "instance.delete.end", "verdict": "kick", )"
                                   R"("hosts": ["a", "b"], "delays_s": [0, 5, 30], "why": ")"));
}

TEST(Explain, OneLineForEachThatIsNotBlank) {
  const auto lines = explain(
      "{\"event_type\": \"instance.update\"}\r\n\n   \nrubbish\n{\"a\": \"\xff\n"
      "{\"event_type\": \"instance.evacuate\", \"payload\": {}}");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], HasSubstr(R"("verdict": "ignore", "hosts": [], "delays_s": [])"));
  EXPECT_THAT(lines[1], HasSubstr(R"({"event_type": null, "verdict": "reject")"));
  EXPECT_THAT(lines[2], HasSubstr("not UTF-8"));
  EXPECT_THAT(lines[3], HasSubstr(R"("verdict": "kick", "hosts": "any")"));
  for (const std::string& line : lines) EXPECT_TRUE(json::parse(line, 65536).ok()) << line;
}

TEST(Explain, TakesRecordedMessages) {
  std::string recorded =
      R"({"exchange": "nova", "routing_key": "x.info", "properties": {}, "body": )";
  json::append_string(kDelete, recorded);
  EXPECT_THAT(explain(recorded + "}")[0], HasSubstr("\"kick\""));
  // A message that happens to have a body is a message.
  EXPECT_THAT(explain(R"({"event_type": "x", "exchange": "e", "body": "{}"})")[0],
              HasSubstr("\"ignore\""));
}

TEST(Explain, RecordedTrafficByVerdict) {
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  std::ostringstream out;
  std::ostringstream err;
  ASSERT_EQ(run_explain({}, in, out, err), 0);
  std::map<std::string, int> verdicts;
  std::istringstream back(out.str());
  for (std::string line; std::getline(back, line);) {
    const auto document = json::parse(line, 65536);
    ASSERT_TRUE(document.ok());
    EXPECT_EQ(document->MemberCount(), 5U);
    ++verdicts[*json::get_string(*document, "verdict")];
  }
  EXPECT_EQ(verdicts, (std::map<std::string, int>{{"ignore", 324}, {"kick", 60}}));
}

TEST(Explain, LinesOverTheLimitAreNotKept) {
  ExplainOptions options;
  options.body_bytes_max = 1000;
  const auto lines = explain(
      std::string(1500, ' ') + "{}\n" + std::string(5000000, '[') + "\n" + kDelete + "\n", options);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("over the limit of 1000 bytes"));
  EXPECT_THAT(lines[1], HasSubstr("the line is over the limit"));
  EXPECT_THAT(lines[2], HasSubstr("\"kick\""));
}

TEST(Explain, ATableForPeople) {
  ExplainOptions options;
  options.table = true;
  const auto lines =
      explain(std::string(kDelete) + "\n{\"event_type\": \"a\\u001b[31m\"}\n", options);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], StartsWith("EVENT TYPE"));
  EXPECT_THAT(lines[1], HasSubstr("kick    a,b                      0,5,30"));
  EXPECT_THAT(lines[2], StartsWith("a.[31m"));
}

TEST(Explain, AFileThatCannotBeReadIsNamed) {
  const TempFolder folder;
  const std::string good = folder / "good.jsonl";
  std::ofstream(good) << kDelete << '\n';
  ExplainOptions options;
  options.files = {"/nonexistent/file", good, "/tmp", "-"};
  std::istringstream in("rubbish\n");
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_explain(options, in, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("cannot read /nonexistent/file: No such file or directory"));
  EXPECT_THAT(err.str(), HasSubstr("cannot read /tmp: Is a directory"));
  EXPECT_THAT(out.str(), HasSubstr("\"kick\""));
  EXPECT_THAT(out.str(), HasSubstr("\"reject\""));
}

TEST(Explain, AnEmptyFileIsNoError) {
  const TempFolder folder;
  const std::string empty = folder / "empty.jsonl";
  std::ofstream(empty).close();
  ExplainOptions options;
  options.files = {empty};
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_explain(options, in, out, err), 0);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace reclaim::cli
