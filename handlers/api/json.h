// Writing the API's answers: a JSON writer that what is in Redis cannot make write anything but
// UTF-8 of one line, which moves no cursor on a caller's terminal (state/base/visible.h). Pure;
// thread: any.
#pragma once

#include <string>
#include <string_view>

#include "state/base/rapidjson.h"

namespace reclaim::api {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

// A string, made visible.
void put(JsonWriter& writer, std::string_view text);
// A value of a foreign JSON text, with all strings and names in it made visible.
void put_value(JsonWriter& writer, const rapidjson::Value& value);
// A string, made visible, or null for an empty one.
void put_or_null(JsonWriter& writer, std::string_view text);
void put_key(JsonWriter& writer, std::string_view key);
void put_member(JsonWriter& writer, std::string_view key, std::string_view text);
void put_member_or_null(JsonWriter& writer, std::string_view key, std::string_view text);
// "links": [{"href": HREF, "rel": "self"}]
void put_self_link(JsonWriter& writer, std::string_view href);

[[nodiscard]] std::string text_of(const rapidjson::StringBuffer& buffer);

}  // namespace reclaim::api
