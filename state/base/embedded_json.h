// JSON texts that travel inside other JSON texts: the evidence of an erasure inside its
// certificate, a step's arguments inside the plan. An object is embedded as an object, so that
// people and jq see one document; any other text, also the empty one, as a string. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "state/base/rapidjson.h"
#include "state/base/result.h"

namespace reclaim {

// RapidJSON writes recursively: what we write again may be nested this deep and no deeper.
inline constexpr std::size_t kEmbeddedDepthMax = 64;

// json::parse, and also refuses what is nested deeper than kEmbeddedDepthMax.
[[nodiscard]] Result<rapidjson::Document> parse_shallow(std::string_view text,
                                                        std::size_t bytes_max);

[[nodiscard]] rapidjson::Value embed(std::string_view text,
                                     rapidjson::Document::AllocatorType& allocator);
// The way back: the text of an object, or the string itself.
[[nodiscard]] std::string unembed(const rapidjson::Value& value);

// A string value of its own copy; where the text is not UTF-8, its foreign bytes become '?'.
[[nodiscard]] rapidjson::Value json_string(std::string_view text,
                                           rapidjson::Document::AllocatorType& allocator);

}  // namespace reclaim
