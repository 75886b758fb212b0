// Members taken out of an object that a JsonScanner runs over: what they are, said in words, and
// their text. Pure; thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "handlers/bus/json_scanner.h"
#include "state/base/result.h"

namespace reclaim {

// Names and ids are short; anything longer is none of OpenStack's.
inline constexpr std::size_t kMemberTextBytesMax = 255;

// "a list", "null", … for an error.
[[nodiscard]] std::string_view describe(JsonScanner::Token token, std::string_view raw);

// Whether a key's raw() spells `name`.
[[nodiscard]] bool spells(std::string_view raw, bool escaped, std::string& scratch,
                          std::string_view name);

// A value is at hand in `scanner` (the token just read); runs past it. False: broken.
[[nodiscard]] bool skip_value(JsonScanner& scanner, JsonScanner::Token token);

// A member that must be a text, or may also be null or absent.
struct TextMember {
  bool seen = false;
  JsonScanner::Token token = JsonScanner::Token::end;
  std::string_view raw;
  bool escaped = false;

  // Takes the first occurrence; the value is at hand.
  void take(const JsonScanner& scanner, JsonScanner::Token value);
  [[nodiscard]] bool is_null() const {
    return token == JsonScanner::Token::literal && raw == "null";
  }
  // The text, or the empty one when it is none, or too long to be what it should be.
  [[nodiscard]] std::string lenient() const;
  [[nodiscard]] Result<std::string> strict(std::string_view name) const;
};

}  // namespace reclaim
