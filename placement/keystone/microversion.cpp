#include "placement/keystone/microversion.h"

#include <fmt/core.h>

#include <charconv>

#include "state/base/log.h"

namespace reclaim::placement {

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

}  // namespace reclaim::placement
