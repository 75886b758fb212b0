// The little the API does with text: names that are compared in whatever case. Pure; thread: any.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace reclaim::api {

[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace reclaim::api
