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

// The member `name` of an object, or nullptr when `value` is no object or has no such member.
[[nodiscard]] const rapidjson::Value* find(const rapidjson::Value& value, std::string_view name);

// The member as the type asked for; absent, null or another type is an error naming the member.
[[nodiscard]] Result<std::string> get_string(const rapidjson::Value& value, std::string_view name);
[[nodiscard]] Result<std::int64_t> get_int(const rapidjson::Value& value, std::string_view name);
[[nodiscard]] Result<double> get_number(const rapidjson::Value& value, std::string_view name);

// The member as a string, or nothing when it is absent, null or no string.
[[nodiscard]] std::optional<std::string> maybe_string(const rapidjson::Value& value,
                                                      std::string_view name);

// Serialises compactly.
[[nodiscard]] std::string to_text(const rapidjson::Value& value);

}  // namespace reclaim::json
