#include "state/base/bool_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim {
Result<bool> bool_from_string(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "true", "on", "y", "yes"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "false", "off", "n", "no"};
  const std::string word = lower(strip(text, " \t\r\n\f\v"));
  if (std::find(kTrue.begin(), kTrue.end(), word) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), word) != kFalse.end()) return false;
  return Error{
      Errc::invalid,
      fmt::format("'{}' is not a boolean, accepted: 1, t, true, on, y, yes, 0, f, false, off, n, "
                  "no",
                  printable_excerpt(text))};
}

}  // namespace reclaim
