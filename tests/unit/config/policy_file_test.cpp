// The form of a policy file: what is a mapping of texts, and every refusal with its line.
#include "config/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> rules(std::string_view text) {
  const PolicyFile file = parse_policy_file(text, "p");
  EXPECT_THAT(file.problems, IsEmpty()) << (file.problems.empty() ? "" : file.problems[0].text);
  std::vector<std::string> out;
  for (const PolicyRule& rule : file.rules) {
    out.push_back(std::to_string(rule.line) + " " + rule.name + " = " + rule.text);
  }
  return out;
}

std::vector<std::string> problems(std::string_view text, const PolicyLimits& limits = {}) {
  std::vector<std::string> out;
  for (const Problem& problem : parse_policy_file(text, "p", limits).problems) {
    out.push_back(to_string(problem));
  }
  return out;
}

TEST(PolicyFile, AMappingOfTexts) {
  EXPECT_THAT(rules("# a comment\n\"cyborg:device:clean\": \"role:admin or role:cleaner\"\n"
                    "cyborg:device:get_all: role:reader\n'x': ''\ny: >-\n  a\n  b\n"),
              ElementsAre("2 cyborg:device:clean = role:admin or role:cleaner",
                          "3 cyborg:device:get_all = role:reader", "4 x = ", "5 y = a b"));
}

TEST(PolicyFile, JsonIsYaml) {
  EXPECT_THAT(rules(R"({"a": "role:admin",
    "b": "@"})"),
              ElementsAre("1 a = role:admin", "2 b = @"));
}

TEST(PolicyFile, NothingIsNoRules) {
  EXPECT_THAT(rules(""), IsEmpty());
  EXPECT_THAT(rules("# only this\n\n"), IsEmpty());
  EXPECT_THAT(rules("---\n...\n"), IsEmpty());
  EXPECT_THAT(rules("{}"), IsEmpty());
}

TEST(PolicyFile, WhatIsNoMappingIsRefused) {
  EXPECT_THAT(problems("- a\n- b\n"), ElementsAre(HasSubstr("p:1: a mapping from a rule's name")));
  EXPECT_THAT(problems("\n\njust text\n"), ElementsAre(HasSubstr("p:3: a mapping from")));
  EXPECT_THAT(problems("a: b\n---\nc: d\n"), ElementsAre(HasSubstr("p:2: a second document")));
}

// oslo.policy takes a rule without a text for one that everybody passes.
TEST(PolicyFile, ARuleWithoutATextIsRefused) {
  for (const char* nothing : {"", "~", "null", "NULL"}) {
    EXPECT_THAT(problems("a: b\nrule: " + std::string(nothing) + "\n"),
                ElementsAre("p:2: rule 'rule': it has no text: write \"!\" for no user, \"@\" for "
                            "every user"))
        << nothing;
  }
}

TEST(PolicyFile, AllThatIsWrongIsSeenAtOnce) {
  EXPECT_THAT(problems("a: [[\"role:x\"]]\nb: {c: d}\n? [k]\n: v\na: again\ne: f\n"),
              ElementsAre(HasSubstr("p:1: rule 'a': its text must be a string; lists"),
                          HasSubstr("p:2: rule 'b': its text must be a string"),
                          HasSubstr("p:3: no rule's name: "),
                          HasSubstr("p:5: rule 'a': it is in line 1 already")));
}

TEST(PolicyFile, AnchorsAliasesAndTagsAreRefused) {
  EXPECT_THAT(problems("a: &x role:admin\nb: *x\n"),
              ElementsAre(AllOf(HasSubstr("p:1: rule 'a': anchors"), HasSubstr("in quotes")),
                          HasSubstr("p:2: rule 'b': anchors")));
  EXPECT_THAT(problems("a: !!python/name:os.system x\n"), ElementsAre(HasSubstr("tags")));
  EXPECT_THAT(problems("rule: !\n"), ElementsAre(HasSubstr("rule 'rule': anchors, aliases and")));
  EXPECT_THAT(problems("&r\na: b\n"), ElementsAre(HasSubstr("p:1: anchors")));
  EXPECT_THAT(problems("<<: *r\n"), SizeIs(1));
  // The well-known bomb: no alias is ever followed.
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  EXPECT_THAT(problems(bomb), SizeIs(12));
}

TEST(PolicyFile, NoYaml) {
  EXPECT_THAT(problems("a: b\nrule: @\n"),
              ElementsAre(AllOf(HasSubstr("p:2: no YAML: "), HasSubstr("in quotes"))));
  EXPECT_THAT(problems("a: \"b\n"), ElementsAre(HasSubstr("no YAML: ")));
  EXPECT_THAT(problems("a: b\n\tc: d\n"), ElementsAre(HasSubstr("no YAML: ")));
  EXPECT_THAT(problems("a: b\n\xff: d\n"), ElementsAre(HasSubstr("p:2: no YAML: ")));
  EXPECT_THAT(problems("{a: b"), ElementsAre(HasSubstr("no YAML: ")));
}

TEST(PolicyFile, HasLimits) {
  PolicyLimits limits;
  limits.rules = 2;
  EXPECT_THAT(problems("a: b\nc: d\ne: f\n", limits), ElementsAre("p:3: more than 2 rules"));
  limits.file_bytes = 4;
  EXPECT_THAT(problems("a: bc", limits), ElementsAre("p: longer than 4 bytes"));
  EXPECT_THAT(problems(std::string(256, 'n') + ": x\n"),
              ElementsAre(HasSubstr("a name has 1 to 255 bytes")));
  EXPECT_THAT(problems("\"\": x\n"), ElementsAre(HasSubstr("a name has 1 to 255 bytes")));
  EXPECT_THAT(problems("a: " + std::string(8'193, 't') + "\n"),
              ElementsAre(HasSubstr("more than 8192 bytes")));
  EXPECT_THAT(problems("a: " + std::string(20, '[') + std::string(20, ']') + "\n"),
              ElementsAre(HasSubstr("must be a string"), HasSubstr("nested more than 16 deep")));
  std::string many;
  for (int i = 0; i < 30; ++i) many += "r" + std::to_string(i) + ": []\n";
  EXPECT_THAT(problems(many), SizeIs(20));
}

}  // namespace
}  // namespace reclaim::config
