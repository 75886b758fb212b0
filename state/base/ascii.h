// Letters of ASCII, whatever the locale: names of hosts, of headers and of providers. Pure; thread:
// any.
#pragma once

#include <algorithm>
#include <string_view>

namespace reclaim {

[[nodiscard]] inline bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace reclaim
