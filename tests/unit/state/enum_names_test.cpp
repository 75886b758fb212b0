// One table, both ways, and the list of what is accepted.
#include "state/base/enum_names.h"

#include <gtest/gtest.h>

namespace reclaim {
namespace {

enum class Colour { red, green, blue };
constexpr auto kColours = enum_names<Colour::blue>("red", "green", "blue");

TEST(EnumNames, OneTableGoesBothWays) {
  for (const Colour colour : {Colour::red, Colour::green, Colour::blue}) {
    EXPECT_EQ(kColours.find(kColours[colour]), colour);
  }
  EXPECT_EQ(kColours[Colour::green], "green");
  EXPECT_EQ(kColours.find("Red"), std::nullopt);
  EXPECT_EQ(kColours.find(""), std::nullopt);
  EXPECT_EQ(kColours.list(), "red, green, blue");
  EXPECT_EQ(kColours.list(" and "), "red, green and blue");
}

}  // namespace
}  // namespace reclaim
