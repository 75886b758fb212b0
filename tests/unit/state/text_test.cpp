// The one text library.
#include "state/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace reclaim {
namespace {

TEST(Text, LettersOfAsciiAreFoldedAndNoOthers) {
  EXPECT_EQ(lower("AZaz09[@`{\xC3\x84"), "azaz09[@`{\xC3\x84");
  EXPECT_TRUE(same_ignoring_case("X-Auth-Token", "x-auth-TOKEN"));
  EXPECT_FALSE(same_ignoring_case("[", "{"));
  EXPECT_FALSE(same_ignoring_case("a", "ab"));
  EXPECT_TRUE(starts_with_ignoring_case("HTTPS://x", "https://"));
  EXPECT_FALSE(starts_with_ignoring_case("http", "https://"));
}

TEST(Text, BlanksAreStrippedAndPiecesTaken) {
  EXPECT_EQ(strip(" \ta b\t ", " \t"), "a b");
  EXPECT_EQ(strip(" \t ", " \t"), "");
  EXPECT_EQ(strip("", " "), "");
  std::string_view rest = "a,,b";
  EXPECT_EQ(take_until(rest, ','), "a");
  EXPECT_EQ(take_until(rest, ','), "");
  EXPECT_EQ(take_until(rest, ','), "b");
  EXPECT_EQ(take_until(rest, ','), "");
}

TEST(Text, HexGoesBothWays) {
  const std::array<unsigned char, 3> bytes{0x00, 0x9f, 0xff};
  EXPECT_EQ(hex_of(bytes), "009fff");
  EXPECT_EQ(bytes_of_hex("009FfF"), std::string("\x00\x9f\xff", 3));
  EXPECT_EQ(bytes_of_hex("009"), std::nullopt);
  EXPECT_EQ(bytes_of_hex("0g"), std::nullopt);
  EXPECT_EQ(hex_value('@'), -1);
  EXPECT_EQ(hex_value('G'), -1);
}

TEST(Text, ANumberIsAllOfTheTextAndFits) {
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_number<int>("-7"), -7);
  EXPECT_EQ(parse_number<double>("37.5"), 37.5);
  EXPECT_EQ(parse_hex<std::uint16_t>("0X144d"), 0x144d);
  EXPECT_EQ(parse_hex<std::uint16_t>("144D"), 0x144d);
  for (const std::string_view none : {"", " 1", "1 ", "+1", "-1", "0x1", "256", "1.0"}) {
    EXPECT_EQ(parse_number<std::uint8_t>(none), std::nullopt) << none;
  }
  for (const std::string_view none : {"", "0x", "0x0x1", "10000", "-1"}) {
    EXPECT_EQ(parse_hex<std::uint16_t>(none), std::nullopt) << none;
  }
}

TEST(Text, Utf8IsWhatUnicodeSaysAndTheFirstBadByteIsNamed) {
  for (const std::string_view good :
       {"", "a", "\x7f", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  // Too short, overlong, a surrogate, above U+10FFFF, no lead, a tail that is none.
  for (const std::string_view bad :
       {"\x80", "\xC1\xBF", "\xC2", "\xC2 ", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(find_invalid_utf8("ab" + std::string(bad)), 2U) << bad;
  }
  EXPECT_EQ(first_utf8_char("\xE2\x82\xAC").code, U'\u20AC');
  EXPECT_EQ(first_utf8_char("\xE2\x82").bytes, 1U);
}

}  // namespace
}  // namespace reclaim
