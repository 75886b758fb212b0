// The INI dialect, rule by rule. What is expected was checked against oslo.config 9.0.0.
#include "config/oslo/ini.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace reclaim::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> values(const IniFile& file) {
  std::vector<std::string> out;
  for (const IniEntry& entry : file.entries) {
    out.push_back(entry.group + "." + entry.key + "=" + entry.value);
  }
  return out;
}

std::vector<std::string> problems(const IniFile& file) {
  std::vector<std::string> out;
  for (const Problem& problem : file.problems) out.push_back(to_string(problem));
  return out;
}

TEST(Ini, ReadsGroupsKeysAndValues) {
  const IniFile file = parse_ini("[DEFAULT]\na = 1\n\n[nvme]\nb: 2\n", "f");
  ASSERT_THAT(values(file), ElementsAre("DEFAULT.a=1", "nvme.b=2"));
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_EQ(to_string(file.entries[1].at), "f:5");
  ASSERT_THAT(file.sections, SizeIs(2));
  EXPECT_EQ(file.sections[1].at, (Location{"f", 4}));
}

TEST(Ini, FirstSeparatorCounts) {
  const IniFile file = parse_ini("[a]\nurl = rabbit://u:p@h:1/\nx: a=b\ny=a:b\nz==\n", "f");
  EXPECT_THAT(values(file), ElementsAre("a.url=rabbit://u:p@h:1/", "a.x=a=b", "a.y=a:b", "a.z=="));
}

TEST(Ini, CommentsOnlyInColumnZero) {
  const IniFile file = parse_ini("[a]\n# c\n; c\npw = a ;b#c\nk=#v\n", "f");
  EXPECT_THAT(values(file), ElementsAre("a.pw=a ;b#c", "a.k=#v"));
}

TEST(Ini, ContinuationJoinsWithLineBreaks) {
  const IniFile file = parse_ini("[a]\nk = {\"x\": 1,\n     \"y\": 2}\n\tz  \nl=1\n", "f");
  EXPECT_THAT(values(file), ElementsAre("a.k={\"x\": 1,\n\"y\": 2}\nz", "a.l=1"));
  EXPECT_EQ(file.entries[0].at.line, 2);
}

TEST(Ini, IndentedCommentContinuesTheValue) {
  EXPECT_THAT(values(parse_ini("[a]\nk=1\n # no comment\n", "f")),
              ElementsAre("a.k=1\n# no comment"));
}

TEST(Ini, BlankLineAndCommentEndTheValue) {
  EXPECT_THAT(problems(parse_ini("[a]\nk=1\n\n more\n", "f")),
              ElementsAre(HasSubstr("f:4: unexpected continuation")));
  EXPECT_THAT(problems(parse_ini("[a]\nk=1\n#c\n more\n", "f")),
              ElementsAre(HasSubstr("f:4: unexpected continuation")));
  EXPECT_THAT(problems(parse_ini("[a]\n more\n", "f")),
              ElementsAre(HasSubstr("f:2: unexpected continuation")));
  EXPECT_THAT(problems(parse_ini("[a]\nk=1\n   \n more\n", "f")), SizeIs(1));
}

TEST(Ini, OuterQuotesOfTheFirstLineAreStripped) {
  const IniFile file =
      parse_ini("[a]\na=\"x y\"\nb='x'\nc=\"x'\nd=\"\ne=\"a\" \"b\"\nf=\"x\n y\"\ng=''\n", "f");
  EXPECT_THAT(values(file), ElementsAre("a.a=x y", "a.b=x", "a.c=\"x'", "a.d=", "a.e=a\" \"b",
                                        "a.f=\"x\ny\"", "a.g="));
}

TEST(Ini, RepeatedKeysAreKeptInOrder) {
  EXPECT_THAT(values(parse_ini("[a]\nk=1\nk=2\n[b]\nx=\n[a]\nk=3\n", "f")),
              ElementsAre("a.k=1", "a.k=2", "b.x=", "a.k=3"));
}

TEST(Ini, WhiteSpaceIsUnicodes) {
  const IniFile file = parse_ini("[a]  \nk \xC2\xA0= v\xC2\xA0\nl=\xE3\x80\x80x\x1f\n", "f");
  EXPECT_THAT(values(file), ElementsAre("a.k=v", "a.l=x"));
}

TEST(Ini, EveryKindOfLineEnd) {
  EXPECT_THAT(values(parse_ini("[a]\r\nk=1\rl=2\r\n\r\nm=3", "f")),
              ElementsAre("a.k=1", "a.l=2", "a.m=3"));
  EXPECT_EQ(parse_ini("[a]\r\nk=1\rl=2\r\n\r\nm=3", "f").entries[2].at.line, 5);
}

TEST(Ini, PercentAndDollarArePlain) {
  EXPECT_THAT(values(parse_ini("[a]\nk=%40$$x%%\n", "f")), ElementsAre("a.k=%40$$x%%"));
}

TEST(Ini, AllThatIsWrongIsSeenAtOnce) {
  const IniFile file =
      parse_ini("k=1\n[DEFAULT] # c\nx=1\n[]\n[a]\nnothing\n  more\n: v\nok=1\n", "f.conf");
  EXPECT_THAT(problems(file), ElementsAre("f.conf:1: option 'k' is before the first [section]",
                                          HasSubstr("f.conf:2: invalid section '[DEFAULT] # c'"),
                                          "f.conf:4: empty section name",
                                          "f.conf:6: no ':' or '=' found in assignment",
                                          HasSubstr("f.conf:8: the option has no name")));
  EXPECT_THAT(values(file), ElementsAre("a.ok=1"));
}

TEST(Ini, NeverQuotesALineThatMayHoldAPassword) {
  for (const Problem& problem : parse_ini("[a]\nhunter2\n\n hunter2\n=hunter2\n", "f").problems) {
    EXPECT_THAT(problem.text, ::testing::Not(HasSubstr("hunter2")));
  }
}

TEST(Ini, RefusesWhatIsNoText) {
  EXPECT_THAT(problems(parse_ini("[a]\nk=\xFF\n", "f")),
              ElementsAre("f:2: the line is not UTF-8 (at byte 3)"));
  EXPECT_THAT(problems(parse_ini("[a]\nk=\xED\xA0\x80\n", "f")), SizeIs(1));
  EXPECT_THAT(problems(parse_ini("[a]\nk=\xC0\xAF\n", "f")), SizeIs(1));
  EXPECT_THAT(problems(parse_ini("[a]\nk=\xE2\x82\n", "f")), SizeIs(1));
  EXPECT_THAT(problems(parse_ini(std::string_view("[a]\nk=\0x\n", 9), "f")),
              ElementsAre("f:2: the line holds a NUL byte"));
  EXPECT_THAT(problems(parse_ini("\xEF\xBB\xBF[a]\n", "f")),
              ElementsAre(HasSubstr("byte order mark")));
  EXPECT_THAT(parse_ini("[a]\nk=\xF0\x9F\x92\xBE\n", "f").problems, IsEmpty());
}

TEST(Ini, IsBounded) {
  EXPECT_THAT(problems(parse_ini("[a]\nk=1\n", "f", {.file_bytes = 8, .file_lines = 10})),
              IsEmpty());
  EXPECT_THAT(problems(parse_ini("[a]\nk=12\n", "f", {.file_bytes = 8, .file_lines = 10})),
              ElementsAre("f: the file is larger than 8 bytes"));
  EXPECT_THAT(problems(parse_ini("[a]\nk=1\nl=1\n", "f", {.file_bytes = 80, .file_lines = 2})),
              ElementsAre("f:3: the file has more than 2 lines"));
  std::string garbage;
  for (int i = 0; i < 1000; ++i) garbage += "garbage\n";
  const IniFile file = parse_ini("[a]\n" + garbage, "f");
  EXPECT_THAT(file.problems, SizeIs(51));
  EXPECT_THAT(file.problems.back().text, HasSubstr("more wrong below"));
}

TEST(Ini, GroupsFoldExceptDefault) {
  EXPECT_EQ(fold_group("NVMe"), "nvme");
  EXPECT_EQ(fold_group("DEFAULT"), "DEFAULT");
  EXPECT_EQ(fold_group("Default"), "default");
}

}  // namespace
}  // namespace reclaim::config
