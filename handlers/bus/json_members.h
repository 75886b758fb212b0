// Members picked out of a JSON object while it is read: what they are, said in words, and their
// text. Of what is not asked for nothing is kept. Pure; thread: any.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "state/base/json.h"
#include "state/base/result.h"

namespace reclaim {

// Names and ids are short; anything longer is none of OpenStack's.
inline constexpr std::size_t kMemberTextBytesMax = 255;

// A member that was asked for. Where it stands twice, the first one counts.
struct JsonMember {
  std::optional<json::Token> token;  // of the value's beginning; none: it is absent
  bool null = false;
  std::string text;       // of a string
  std::string_view span;  // of an object, with its braces; of the text that is read

  [[nodiscard]] bool seen() const { return token.has_value(); }
  [[nodiscard]] bool is_text() const { return token == json::Token::string; }
  [[nodiscard]] bool is_object() const { return token == json::Token::object_begin; }
  // "a list", "null", "absent", … for an error.
  [[nodiscard]] std::string_view kind() const;
  // The text, or the empty one when it is none, or too long to be what it should be.
  [[nodiscard]] std::string lenient() const;
  [[nodiscard]] Result<std::string> strict(std::string_view name) const;
};

// A member to be picked, by its name or by how its name ends, and what to pick inside of it.
struct JsonPick {
  std::string_view name;
  JsonMember* member;
  bool ending = false;
  std::span<const JsonPick> inside = {};
};

// Reads all of `text`, which has to be one object, and fills the members of `picks`, which also
// begin empty. The error names the text as `what`.
[[nodiscard]] Status pick_members(std::string_view text, std::string_view what,
                                  std::span<const JsonPick> picks);

}  // namespace reclaim
