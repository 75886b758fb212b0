#include "placement/microversion.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim::placement {
namespace {

Error fail(Errc code, const HttpResponse& response, std::string_view what) {
  return Error{code, fmt::format("Placement's version document: {}", what), response.status};
}

}  // namespace

std::string to_string(Microversion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

Result<Microversion> parse_microversion(std::string_view text) {
  Microversion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
    if (minor.ec == std::errc{} && minor.ptr == end && version.major >= 0 && version.minor >= 0) {
      return version;
    }
  }
  return Error{Errc::invalid,
               fmt::format("'{}' is no microversion like 1.28", printable_excerpt(text, 40))};
}

Result<Microversion> choose_microversion(const HttpResponse& response, std::size_t body_bytes_max) {
  if (response.status == 429 || response.status >= 500) {
    return fail(Errc::unavailable, response, fmt::format("status {}", response.status));
  }
  if (response.status != 200 && response.status != 300) {
    return fail(Errc::invalid, response,
                fmt::format("status {}; is the endpoint Placement's?", response.status));
  }
  const auto document = json::parse(response.body, body_bytes_max);
  if (!document.ok()) return fail(Errc::invalid, response, document.error().what);
  const rapidjson::Value* versions = json::find(*document, "versions");
  if (versions == nullptr || !versions->IsArray() || versions->Empty()) {
    return fail(Errc::invalid, response, "it has no list 'versions'; is the endpoint Placement's?");
  }
  const rapidjson::Value& first = (*versions)[0];
  const auto read = [&](std::string_view name) -> Result<Microversion> {
    auto text = json::get_string(first, name);
    if (!text.ok()) return fail(Errc::invalid, response, text.error().what);
    auto version = parse_microversion(*text);
    if (!version.ok()) return fail(Errc::invalid, response, version.error().what);
    return version;
  };
  const auto lowest = read("min_version");
  if (!lowest.ok()) return lowest;
  const auto highest = read("max_version");
  if (!highest.ok()) return highest;
  const Microversion chosen = std::min(kWanted, *highest);
  if (chosen < kNeeded || chosen < *lowest) {
    return fail(Errc::refused, response,
                fmt::format("it speaks {} to {}; Reclaim needs {} to {}", to_string(*lowest),
                            to_string(*highest), to_string(kNeeded), to_string(kWanted)));
  }
  return chosen;
}

}  // namespace reclaim::placement
