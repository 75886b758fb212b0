#include "handlers/api/json.h"

#include "state/base/rapidjson.h"
#include "state/base/visible.h"

namespace reclaim::api {
namespace {

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

}  // namespace

void put(JsonWriter& writer, std::string_view text) {
  const std::string shown = reclaim::visible(text);
  writer.String(shown.data(), size_of(shown));
}

void put_value(JsonWriter& writer, const rapidjson::Value& value) {
  if (value.IsString()) return put(writer, {value.GetString(), value.GetStringLength()});
  if (value.IsArray()) {
    writer.StartArray();
    for (const rapidjson::Value& each : value.GetArray()) put_value(writer, each);
    writer.EndArray();
  } else if (value.IsObject()) {
    writer.StartObject();
    for (const auto& member : value.GetObject()) {
      put_key(writer, reclaim::visible({member.name.GetString(), member.name.GetStringLength()}));
      put_value(writer, member.value);
    }
    writer.EndObject();
  } else {
    value.Accept(writer);
  }
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
