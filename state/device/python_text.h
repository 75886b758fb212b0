// Dictionaries as Cyborg keeps them in columns of text: mostly JSON, here and there what Python
// prints of a dict ("{'product_id': '0001', 'controller': None}"). Pure; thread: any.
#pragma once

#include <cstddef>
#include <string_view>

#include "state/base/rapidjson.h"
#include "state/base/result.h"

namespace reclaim {

// The object that `text` stands for, read as JSON or else as Python's literals: dicts, lists,
// numbers, None, True, False and strings in either quotes, with a u before them or not. The error
// is that of the reading as JSON. Not nested deeper than kEmbeddedDepthMax.
[[nodiscard]] Result<rapidjson::Document> parse_json_or_python(std::string_view text,
                                                               std::size_t bytes_max);

}  // namespace reclaim
