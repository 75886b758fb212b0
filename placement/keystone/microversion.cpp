#include "placement/keystone/microversion.h"

#include <fmt/core.h>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::placement {

std::string to_string(Microversion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

Result<Microversion> parse_microversion(std::string_view text) {
  std::string_view minor_text = text;
  const auto major = parse_number<int>(take_until(minor_text, '.'));
  const auto minor = parse_number<int>(minor_text);
  if (major && minor && *major >= 0 && *minor >= 0) return Microversion{*major, *minor};
  return Error{Errc::invalid,
               fmt::format("'{}' is not a microversion like 1.28", printable_excerpt(text, 40))};
}

}  // namespace reclaim::placement
