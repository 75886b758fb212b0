// The regular expressions of a device_spec's address, matched by RE2 in linear time.
//
// Nova hands them to Python's re.match(). std::regex would do, were it not that a few nested stars
// keep it busy for hours, even on the one to eight hex digits that an address field has (the fuzzer
// found that). Thread: any.
#pragma once

#include <memory>
#include <string_view>

#include "state/base/result.h"

namespace re2 {
class RE2;
}

namespace reclaim::config {

inline constexpr std::size_t kPatternBytesMax = 64;
inline constexpr std::size_t kPatternTextBytesMax = 8;

class Pattern {
 public:
  // Python's syntax as far as it can mean anything here: literals, '.', classes, \d \w \s and their
  // opposites, groups, '|', '*', '+', '?', '{m,n}', '^' and '$'. The error says what is wrong, or
  // which construct (look-around, back-reference, flags) is not supported. Letters match in either
  // case.
  [[nodiscard]] static Result<Pattern> create(std::string_view text);

  // Matches as re.match(): from the start of `text`, not necessarily to its end. CHECKs that `text`
  // is at most kPatternTextBytesMax bytes long.
  [[nodiscard]] bool matches_start(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace reclaim::config
