// What an order may set of a configured step's arguments.
#include "state/device/order_args.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kAllowed = R"({"bus":"[0-9a-f]{2}","mode":["fast","full"]})";

std::string refusal(std::string_view given, std::string_view allowed = kAllowed) {
  const Status checked = check_ordered_args(given, allowed);
  return checked ? "" : checked.error().what;
}

TEST(OrderArgs, APatternMatchesTheWholeTextAndAListNamesIt) {
  EXPECT_EQ(refusal(R"({})"), "");
  EXPECT_EQ(refusal(R"({"bus":"0f","mode":"full"})"), "");
  EXPECT_THAT(refusal(R"({"bus":"0f0"})"), HasSubstr("accepted is what matches [0-9a-f]{2}"));
  EXPECT_THAT(refusal(R"({"bus":"x0f"})"), HasSubstr("'bus' may not be 'x0f'"));
  EXPECT_THAT(refusal(R"({"mode":"slow"})"), HasSubstr("accepted is fast, full"));
  EXPECT_THAT(refusal(R"({"mode":"FAST"})"), HasSubstr("'mode'"));
}

TEST(OrderArgs, NothingElseIsSet) {
  EXPECT_THAT(refusal(R"({"cmd":"/bin/sh"})"),
              HasSubstr("an order may not set 'cmd'; it may set bus, mode"));
  EXPECT_THAT(refusal(R"({"cmd":"x"})", "{}"), HasSubstr("it may set nothing"));
  EXPECT_THAT(refusal(R"({"cmd":"x"})", ""), HasSubstr("it may set nothing"));
  // Whoever wrote that into a record: what cannot be judged accepts nothing.
  EXPECT_THAT(refusal(R"({"cmd":"x"})", R"({"cmd":"("})"), HasSubstr("may not set 'cmd'"));
  EXPECT_THAT(refusal(R"({"cmd":"x"})", R"({"cmd":[1]})"), HasSubstr("may not set 'cmd'"));
}

TEST(OrderArgs, OnlyShortPrintableTexts) {
  for (const char* value : {"1", "true", "null", "[\"0f\"]", "{}"}) {
    EXPECT_THAT(refusal(std::string(R"({"bus":)") + value + "}"), HasSubstr("is not a text"));
  }
  EXPECT_THAT(refusal(R"({"any":"a\nb"})", R"({"any":"[^/]*"})"), HasSubstr("'any' may not be"));
  EXPECT_THAT(refusal(R"({"any":"a\u0000b"})", R"({"any":"[^/]*"})"), HasSubstr("may not be"));
  EXPECT_EQ(refusal(R"({"any":")" + std::string(256, 'a') + R"("})", R"({"any":"a*"})"), "");
  EXPECT_THAT(refusal(R"({"any":")" + std::string(257, 'a') + R"("})", R"({"any":"a*"})"),
              HasSubstr("257 bytes, 256 are allowed"));
  // A second one of the same name would win.
  EXPECT_THAT(refusal(R"({"bus":"0f","bus":"/bin/sh"})"), HasSubstr("may not be '/bin/sh'"));
}

TEST(OrderArgs, ThatCannotBeJudgedByAreNamed) {
  const auto why = [](const std::string& allowed) {
    const Status good = check_order_args(allowed);
    return good ? "" : good.error().what;
  };
  EXPECT_EQ(why(kAllowed), "");
  EXPECT_EQ(why("{}"), "");
  EXPECT_THAT(why("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(why(R"({"a":"("})"), HasSubstr("'a' has a pattern that cannot be read"));
  EXPECT_THAT(why(R"({"a":"(a)\\1"})"), HasSubstr("cannot be read"));
  EXPECT_THAT(why(R"({"a":")" + std::string(257, 'a') + R"("})"), HasSubstr("256 are allowed"));
  EXPECT_THAT(why(R"({"a":"/dev/[a-z]+"})"), HasSubstr("begins with '/'"));
  EXPECT_THAT(why(R"({"a":[]})"), HasSubstr("a list without a text"));
  EXPECT_THAT(why(R"({"a":["x",1]})"), HasSubstr("something else than texts"));
  EXPECT_THAT(why(R"({"a":null})"), HasSubstr("neither a pattern nor a list"));
}

TEST(OrderArgs, ByWhichAnOrderCouldNameAFileAreFound) {
  EXPECT_THAT(paths_in_order_args(kAllowed, R"({"bus":"01"})"), IsEmpty());
  EXPECT_THAT(paths_in_order_args(R"({"a":".+","b":"[^/]+","c":["x/y"],"d":"[a-z]"})",
                                  R"({"d":"/usr/bin/x"})"),
              ElementsAre("c", "d"));
}

// Whatever was meant by it.
TEST(OrderArgs, APatternAcceptsNoPath) {
  for (const char* pattern :
       {".*", "[^ ]{5,6}", R"(\\x2fetc\\x2f[a-z]+)", "[!-~]{6}", "[.-x]{2,9}"}) {
    const std::string allowed = fmt::format(R"({{"a":"{}"}})", pattern);
    ASSERT_TRUE(check_order_args(allowed)) << allowed;
    EXPECT_THAT(refusal(R"({"a":"/etc/x"})", allowed), HasSubstr("has no '/'")) << allowed;
  }
  EXPECT_EQ(refusal(R"({"a":"/etc/x"})", R"({"a":["/etc/x"]})"), "") << "a list names it";
}

TEST(OrderArgs, AreMergedOverWhatIsConfigured) {
  EXPECT_EQ(merged_args(R"({"a":"1","b":2})", R"({"a":"x"})"), R"({"b":2,"a":"x"})");
  EXPECT_EQ(merged_args("", R"({"a":"x"})"), R"({"a":"x"})");
  EXPECT_EQ(merged_args(R"({"a":"1"})", "[]"), R"({"a":"1"})");
}

// A plan lies in Redis until it is run.
TEST(OrderArgs, OfAPlanAreJudgedAgain) {
  const auto good = [](std::string_view args) {
    return check_planned_args(args, R"({"bus":"00","image":"/x.bin"})", kAllowed).ok();
  };
  EXPECT_TRUE(good(R"({"bus":"00","image":"/x.bin"})"));
  EXPECT_TRUE(good(R"({"image":"/x.bin","bus":"ff","mode":"full"})"));
  EXPECT_FALSE(good(R"({"bus":"00","image":"/y.bin"})"));
  EXPECT_FALSE(good(R"({"bus":"00"})")) << "the image is fixed";
  EXPECT_FALSE(good(R"({"bus":"00","image":"/x.bin","image":"/y.bin"})"));
  EXPECT_FALSE(good(R"({"bus":"xx","image":"/x.bin"})"));
}

}  // namespace
}  // namespace reclaim
