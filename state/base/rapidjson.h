// RapidJSON, included through here and nowhere else, so that its assertion is ours in every
// translation unit: what foreign text provokes while it is parsed becomes the error of that text
// (state/base/json.cpp); anywhere else it is a CHECK that failed.
#pragma once

namespace reclaim::json {
// Thread: any. While json::parse() or json::read() runs on this thread it throws what they catch;
// otherwise it ends the process.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}  // namespace reclaim::json

#define RAPIDJSON_ASSERT(expression)   \
  ((expression) ? static_cast<void>(0) \
                : ::reclaim::json::assertion_failed(#expression, __FILE__, __LINE__))

#include <rapidjson/document.h>
#include <rapidjson/encodings.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
