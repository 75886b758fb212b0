#include "state/base/embedded_json.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/json.h"
#include "state/base/rapidjson.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

// Counts brackets outside of strings. The text need not be JSON: a parser decides that afterwards.
bool nested_within(std::string_view text, std::size_t depth_max) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth > depth_max) return false;
  }
  return true;
}

constexpr std::size_t kEmbeddedBytesMax = 1'048'576;

}  // namespace

Result<rapidjson::Document> parse_shallow(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max && !nested_within(text, kEmbeddedDepthMax)) {
    return Error{Errc::limit,
                 fmt::format("JSON text is nested deeper than {} levels", kEmbeddedDepthMax)};
  }
  return json::parse(text, bytes_max);
}

rapidjson::Value json_string(std::string_view text, rapidjson::Document::AllocatorType& allocator) {
  rapidjson::Value value;
  if (!is_utf8(text)) {
    // A drive may say anything of itself; what we write must be readable again.
    std::string ascii(text);
    std::replace_if(
        ascii.begin(), ascii.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    value.SetString(ascii.data(), static_cast<rapidjson::SizeType>(ascii.size()), allocator);
    return value;
  }
  value.SetString(text.data(), static_cast<rapidjson::SizeType>(text.size()), allocator);
  return value;
}

rapidjson::Value embed(std::string_view text, rapidjson::Document::AllocatorType& allocator) {
  if (!text.empty()) {
    const Result<rapidjson::Document> parsed = parse_shallow(text, kEmbeddedBytesMax);
    if (parsed.ok() && parsed->IsObject()) {
      rapidjson::Value object;
      object.CopyFrom(*parsed, allocator);
      return object;
    }
  }
  return json_string(text, allocator);
}

std::string unembed(const rapidjson::Value& value) {
  if (value.IsString()) return {value.GetString(), value.GetStringLength()};
  return json::to_text(value);
}

}  // namespace reclaim
