// The regular expressions of addresses: what they match, what is refused, and that nothing takes
// long. The expectations are Python's re.match().
#include "config/device_spec/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim::config {
namespace {

using ::testing::HasSubstr;

bool matches(std::string_view pattern, std::string_view text) {
  const auto made = Pattern::create(pattern);
  EXPECT_TRUE(made.ok()) << pattern << ": " << (made.ok() ? "" : made.error().what);
  return made.ok() && made->matches_start(text);
}

std::string error(std::string_view pattern) {
  const auto made = Pattern::create(pattern);
  EXPECT_FALSE(made.ok()) << pattern;
  return made.ok() ? "" : made.error().what;
}

TEST(Pattern, MatchesFromTheStartNotToTheEnd) {
  EXPECT_TRUE(matches("0", "0a"));
  EXPECT_FALSE(matches("a", "0a"));
  EXPECT_TRUE(matches("", "0a"));
  EXPECT_TRUE(matches("0a$", "0a"));
  EXPECT_FALSE(matches("0$", "0a"));
  EXPECT_TRUE(matches("^0", "0a"));
  EXPECT_FALSE(matches("0^a", "0a"));
}

TEST(Pattern, Classes) {
  EXPECT_TRUE(matches("[2-7]", "2"));
  EXPECT_TRUE(matches("[2-7]", "7"));
  EXPECT_FALSE(matches("[2-7]", "1"));
  EXPECT_FALSE(matches("[2-7]", "8"));
  EXPECT_TRUE(matches("[^2-7]", "8"));
  EXPECT_FALSE(matches("[^2-7]", "3"));
  EXPECT_TRUE(matches("[0-9a-f]", "c"));
  EXPECT_TRUE(matches("[\\da]", "a"));
  EXPECT_TRUE(matches("[]0]", "0"));
  EXPECT_TRUE(matches("[[:digit:]", ":"));  // a set of these characters, in Python
  EXPECT_FALSE(matches("[[:digit:]", "0"));
  EXPECT_TRUE(matches("\\_", "_"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("\\d\\w", "1f"));
  EXPECT_FALSE(matches("\\D", "1"));
  EXPECT_FALSE(matches("\\s", "1"));
  EXPECT_TRUE(matches("\\S\\W", "1."));
  EXPECT_TRUE(matches("\\.", "."));
  EXPECT_FALSE(matches("\\.", "1"));
}

TEST(Pattern, CaseDoesNotCount) {
  EXPECT_TRUE(matches("0A", "0a"));
  EXPECT_TRUE(matches("[A-F]", "b"));
  EXPECT_FALSE(matches("[^A]", "a"));
}

TEST(Pattern, RepetitionAndChoice) {
  EXPECT_TRUE(matches(".*", ""));
  EXPECT_FALSE(matches(".+", ""));
  EXPECT_TRUE(matches("0?1", "1"));
  EXPECT_TRUE(matches("0?1", "01"));
  EXPECT_TRUE(matches("0{4}", "0000"));
  EXPECT_FALSE(matches("0{4}", "0001"));
  EXPECT_TRUE(matches("0{1,3}1", "0001"));
  EXPECT_FALSE(matches("0{1,2}1", "0001"));
  EXPECT_TRUE(matches("0{,3}1", "1"));
  EXPECT_TRUE(matches("0{3,}1", "0001"));
  EXPECT_FALSE(matches("0{4,}1", "0001"));
  EXPECT_TRUE(matches("0*?1", "001"));
  EXPECT_TRUE(matches("(0|1)f$", "1f"));
  EXPECT_FALSE(matches("(?:0|1)f$", "2f"));
  EXPECT_TRUE(matches("(ab|a)(bc|c)$", "abc"));
  EXPECT_TRUE(matches("(a|ab)(c|bcd)(d*)$", "abcd"));
  EXPECT_TRUE(matches("a||b", "c"));
  EXPECT_TRUE(matches("(a?){5}$", "aaa"));
  EXPECT_TRUE(matches("(a{2}){2}$", "aaaa"));
  EXPECT_FALSE(matches("(a{2}){2}$", "aaa"));
  EXPECT_FALSE(matches("(aa)*$", "aaa"));
  EXPECT_TRUE(matches("0{0}1", "1"));
}

TEST(Pattern, NestingCostsNothing) {
  std::string stars = "a*";
  for (int i = 0; i < 20; ++i) stars = "(" + stars + ")*";
  EXPECT_TRUE(matches(stars, "aaaaaaaa"));
  EXPECT_FALSE(matches(stars + "b", "aaaaaaaa"));
  EXPECT_FALSE(matches("(((a{999}){999}){999})b", "aaaaaaaa"));
  EXPECT_TRUE(matches(std::string(32, '(') + std::string(32, ')'), "a"));
}

TEST(Pattern, Errors) {
  EXPECT_EQ(error("(0"), "a '(' without its ')'");
  EXPECT_EQ(error("0)"), "a ')' without its '('");
  EXPECT_EQ(error("[0"), "a '[' without its ']'");
  EXPECT_EQ(error("[]"), "a '[' without its ']'");
  EXPECT_EQ(error("*"), "nothing to repeat");
  EXPECT_EQ(error("(+)"), "nothing to repeat");
  EXPECT_EQ(error("a**"), "two repetitions in a row");
  EXPECT_EQ(error("a{"), "a '{' without a count like {2} or {1,3}");
  EXPECT_EQ(error("a{,}"), "a '{' without a count like {2} or {1,3}");
  EXPECT_EQ(error("a{3,2}"), "a count whose minimum is greater than its maximum");
  EXPECT_EQ(error("[9-0]"), "not a valid range");
  EXPECT_EQ(error("[\\d-f]"), "not a valid range");
  EXPECT_EQ(error("[a-\\d]"), "not a valid range");
  EXPECT_EQ(error("a\\"), "a '\\' at the end");
  EXPECT_THAT(error("(a)\\1"), HasSubstr("back-references"));
  EXPECT_THAT(error("\\bx"), HasSubstr("are not supported"));
  EXPECT_THAT(error("(?=a)"), HasSubstr("look-around"));
  EXPECT_THAT(error("(?i)a"), HasSubstr("flags"));
  EXPECT_THAT(error("((((((a{999}){999}){999}){999}){999}){999})b"), HasSubstr("too large"));
  EXPECT_EQ(Pattern::create(std::string(65, 'a')).error().code, Errc::limit);
}

}  // namespace
}  // namespace reclaim::config
