#include "handlers/api/json.h"

#include "state/base/log.h"
#include "state/base/rapidjson.h"
#include "state/base/text.h"

namespace reclaim::api {
namespace {

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

}  // namespace

void put(JsonWriter& writer, std::string_view text) {
  if (is_utf8(text)) {
    writer.String(text.data(), size_of(text));
    return;
  }
  const std::string printable = printable_excerpt(text, text.size());
  writer.String(printable.data(), size_of(printable));
}

void put_or_null(JsonWriter& writer, std::string_view text) {
  if (text.empty()) {
    writer.Null();
  } else {
    put(writer, text);
  }
}

void put_key(JsonWriter& writer, std::string_view key) {
  writer.Key(key.data(), size_of(key));
}

void put_member(JsonWriter& writer, std::string_view key, std::string_view text) {
  put_key(writer, key);
  put(writer, text);
}

void put_member_or_null(JsonWriter& writer, std::string_view key, std::string_view text) {
  put_key(writer, key);
  put_or_null(writer, text);
}

void put_self_link(JsonWriter& writer, std::string_view href) {
  put_key(writer, "links");
  writer.StartArray();
  writer.StartObject();
  put_member(writer, "href", href);
  put_member(writer, "rel", "self");
  writer.EndObject();
  writer.EndArray();
}

std::string text_of(const rapidjson::StringBuffer& buffer) {
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace reclaim::api
