// The one text library: letters of ASCII, whatever the locale; hexadecimal digits; numbers; UTF-8.
// Pure; thread: any.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace reclaim {

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr bool is_letter(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}

[[nodiscard]] constexpr bool is_alnum(char c) {
  return is_digit(c) || is_letter(c);
}

// True for a control character of ASCII. No name or path has one.
[[nodiscard]] constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

[[nodiscard]] std::string lower(std::string_view text);

// Names of hosts, of headers and of providers.
[[nodiscard]] bool same_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);

// The text without the characters of `blanks` at both ends.
[[nodiscard]] std::string_view strip(std::string_view text, std::string_view blanks);

// Takes what stands before the first `separator`, and the separator, off the front of `rest`.
[[nodiscard]] std::string_view take_until(std::string_view& rest, char separator);

// The value of a hexadecimal digit in either case; -1: it is none.
[[nodiscard]] constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

// Two lower-case digits a byte, and back.
[[nodiscard]] std::string hex_of(std::span<const unsigned char> bytes);
[[nodiscard]] std::optional<std::string> bytes_of_hex(std::string_view digits);

// All of `text` as a number that fits; without blanks, a plus sign or 0x.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number value{};
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<Number>) {
    result = std::from_chars(text.data(), text.data() + text.size(), value);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  }
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// A hexadecimal number, with 0x or without.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number<Number>(text, 16);
}

// The first character of a text that is not empty. Unicode 15, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF.
struct Utf8Char {
  char32_t code = 0;
  std::size_t bytes = 1;  // 1 also for a byte that begins none
  bool valid = false;
};
[[nodiscard]] Utf8Char first_utf8_char(std::string_view text);

// The index of the first byte that begins no character; nothing: the text is UTF-8.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);
[[nodiscard]] inline bool is_utf8(std::string_view text) {
  return !find_invalid_utf8(text);
}

}  // namespace reclaim
