// OpenStack's microversions as values. Which ones are spoken: placement/keystone/service.h. Pure;
// thread: any.
#pragma once

#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::placement {

struct Microversion {
  int major = 0;
  int minor = 0;
  friend constexpr auto operator<=>(const Microversion&, const Microversion&) = default;
};

[[nodiscard]] std::string to_string(Microversion version);
[[nodiscard]] Result<Microversion> parse_microversion(std::string_view text);

}  // namespace reclaim::placement
