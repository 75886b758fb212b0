// What a step may write, and every kind of what it may not.
#include "nvme/command/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Output : ::testing::Test {
  CommandOptions limits;
  std::vector<std::string> progress;
  std::function<void(CommandProgress)> on_progress = [this](const CommandProgress& now) {
    progress.push_back(std::to_string(static_cast<int>(now.percent)) + " " + now.message);
  };
  CommandOutput output{limits, on_progress};

  std::string refusal(std::string_view text) {
    CommandOutput fresh(limits, on_progress);
    Status taken = fresh.take(text);
    if (taken) taken = fresh.finish();
    return taken ? "accepted" : taken.error().what;
  }
};

TEST_F(Output, IsTakenInPiecesOfAnySize) {
  const std::string text =
      "{\"progress\": 0.25, \"message\": \"reading\"}\n"
      "{\"finding\": \"as it should be\"}\r\n"
      "\n"
      "{\"finding\": {\"what\": \"psid\", \"found\": \"MT_0\", \"reset\": true}, \"progress\": 1}\n"
      "{\"result\": {\"ok\": true}}";
  for (const char c : text) ASSERT_TRUE(output.take(std::string_view(&c, 1)).ok());
  ASSERT_TRUE(output.finish().ok());
  EXPECT_THAT(progress, ElementsAre("25 reading", "100 reading"));
  EXPECT_EQ(output.result(), R"({"ok":true})");
  EXPECT_THAT(output.take_findings(), ElementsAre(StepFinding{"finding", "as it should be", false},
                                                  StepFinding{"psid", "MT_0", true}));
}

TEST_F(Output, NothingIsWellFormed) {
  EXPECT_EQ(refusal(""), "accepted");
  EXPECT_EQ(refusal("\n \n"), "accepted");
}

TEST_F(Output, WhatIsNotTheProtocolIsNamed) {
  EXPECT_THAT(refusal("done\n"), HasSubstr("wrote what is not the protocol: 'done'"));
  EXPECT_THAT(refusal("[1]\n"), HasSubstr("a line is a JSON object"));
  EXPECT_THAT(refusal("{\"progres\": 1}\n"),
              HasSubstr("unknown member 'progres', known: progress"));
  EXPECT_THAT(refusal("{\"progress\": 40}\n"), HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(refusal("{\"progress\": -0.1}\n"), HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(refusal("{\"progress\": \"1\"}\n"), HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(refusal("{\"message\": \"x\"}\n"), HasSubstr("a message comes with a progress"));
  EXPECT_THAT(refusal("{\"progress\": 1, \"message\": 2}\n"), HasSubstr("message is a string"));
  EXPECT_THAT(refusal("{\"finding\": 1}\n"), HasSubstr("finding is a string, or an object"));
  EXPECT_THAT(refusal("{\"finding\": {\"what\": \"x\"}}\n"), HasSubstr("what and found"));
  EXPECT_THAT(refusal("{\"finding\": {\"what\":\"x\",\"found\":\"y\",\"reset\":1}}\n"),
              HasSubstr("reset (true)"));
  EXPECT_THAT(refusal("{\"result\": 1}\n"), HasSubstr("result is a string or an object"));
  EXPECT_THAT(refusal("{\"result\": \"a\"}\n{\"result\": \"b\"}\n"),
              HasSubstr("nothing follows the result"));
  EXPECT_THAT(refusal("{\"result\": \"a\"}\n{\"progress\": 1}\n"),
              HasSubstr("nothing follows the result"));
  EXPECT_THAT(refusal("{\"result\": \"\xFF\"}\n"), HasSubstr("wrote what is not the protocol"));
  EXPECT_THAT(refusal(std::string("{\"result\": \"a\0\"}\n", 16)), HasSubstr("not the protocol"));
}

TEST_F(Output, EveryLimitIsReached) {
  limits.line_bytes_max = 40;
  EXPECT_THAT(refusal("{\"result\": \"" + std::string(40, 'x') + "\"}"),
              HasSubstr("a line has at most 40 bytes"));
  EXPECT_EQ(refusal("{\"result\": \"" + std::string(20, 'x') + "\"}"), "accepted");
  limits.output_bytes_max = 50;
  EXPECT_THAT(
      refusal("{\"progress\": 0}\n{\"progress\": 0}\n{\"progress\": 0}\n{\"progress\": 0}\n"),
      HasSubstr("wrote more than 50 bytes"));
  limits.findings_max = 1;
  EXPECT_THAT(refusal("{\"finding\": \"a\"}\n{\"finding\": \"b\"}\n"),
              HasSubstr("more than 1 findings"));
}

TEST_F(Output, WhatItSaysIsMadePrintable) {
  ASSERT_TRUE(output.take("{\"progress\": 0, \"message\": \"a\\u001b[31mb\"}\n").ok());
  EXPECT_THAT(progress.back(), AllOf(HasSubstr("a"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(output.words(), progress.back().substr(2));
}

}  // namespace
}  // namespace reclaim::nvme
