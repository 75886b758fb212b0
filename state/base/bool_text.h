// Flexible booleans, as operators and Cyborg write them. Pure; thread: any.
#pragma once

#include <string_view>

#include "state/base/result.h"

namespace reclaim {

// oslo.utils bool_from_string(strict=True): 1/t/true/on/y/yes and 0/f/false/off/n/no, in any case.
[[nodiscard]] Result<bool> bool_from_string(std::string_view text);

}  // namespace reclaim
