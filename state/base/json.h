// Bounded JSON reading. Foreign text is parsed iteratively (RapidJSON's recursive parser overflows
// the stack on deep nesting) and only up to a stated size; getters name the member that is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/rapidjson.h"
#include "state/base/result.h"

namespace reclaim::json {

// Parses one JSON text of at most `bytes_max` bytes; UTF-8 is validated; full stop at the end of
// the text; no exponent of more than four digits. The error says at which byte it went wrong. This
// is the one place where a text becomes a document: an assertion of RapidJSON's is an error here.
[[nodiscard]] Result<rapidjson::Document> parse(std::string_view text, std::size_t bytes_max);

// The member `name` of an object, or nullptr when `value` is not an object or has no such member.
[[nodiscard]] const rapidjson::Value* find(const rapidjson::Value& value, std::string_view name);

// The member as the type asked for; absent, null or another type is an error naming the member.
[[nodiscard]] Result<std::string> get_string(const rapidjson::Value& value, std::string_view name);
[[nodiscard]] Result<std::int64_t> get_int(const rapidjson::Value& value, std::string_view name);
[[nodiscard]] Result<double> get_number(const rapidjson::Value& value, std::string_view name);

// The member as a string, or nothing when it is absent, null or no string.
[[nodiscard]] std::optional<std::string> maybe_string(const rapidjson::Value& value,
                                                      std::string_view name);

// A part of a JSON text, in the order of the text.
enum class Token { object_begin, object_end, array_begin, array_end, key, string, number, literal };

// The listener that read() tells the parts of a text.
class Parts {
 public:
  Parts() = default;
  virtual ~Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // `text`: of a key or a string, unescaped; of a number or a literal (true, false, null), as it
  // is written; empty for a bracket. It is gone when this returns. `offset`: of the byte behind the
  // part.
  virtual void on(Token token, std::string_view text, std::size_t offset) = 0;
};

// Nova's deepest payload is about ten levels deep.
inline constexpr std::size_t kReadDepthMax = 512;

// Reads a text without making a document of it, so that a foreign text costs no memory of its
// size. As strict as parse(), and nothing is nested deeper than kReadDepthMax. The error (Errc::
// invalid, Errc::limit) says at which byte, and holds nothing of the text; parts before it have
// been told. A number out of a double's range is an error, as it is for parse(). `parts` must not
// call parse() or read() before it returned.
[[nodiscard]] Status read(std::string_view text, Parts& parts);

// The text with each unpaired surrogate escape replaced by that of U+FFFD: Python writes them, and
// RapidJSON refuses them. `buffer` holds it where something had to be replaced.
[[nodiscard]] std::string_view pair_surrogates(std::string_view text, std::string& buffer);

// Appends `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void append_string(std::string_view text, std::string& out);

// Serialises compactly.
[[nodiscard]] std::string to_text(const rapidjson::Value& value);

}  // namespace reclaim::json
