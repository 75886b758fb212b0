// The regular expressions of a device_spec's address, matched in bounded time.
//
// Nova hands them to Python's re.match(). std::regex would do, were it not that a few nested stars
// keep it busy for hours, even on the one to eight hex digits that an address field has (the fuzzer
// found that). Only "does it match from the start" is asked here, never "where" or "what did the
// group hold", so a match is a table: for each part of the pattern and each position, the positions
// where the part may end. Thread: any.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "state/base/result.h"

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

  // As re.match(): from the start of `text`, not necessarily to its end. CHECKs that `text` is at
  // most kPatternTextBytesMax bytes long.
  [[nodiscard]] bool matches_start(std::string_view text) const;

 private:
  friend class PatternParser;

  enum class Kind { nothing, one_of, start, end, sequence, choice, repeat };
  struct Node {
    Kind kind = Kind::nothing;
    std::bitset<256> bytes = {};  // one_of
    std::size_t first = 0;  // children, by index; those of sequence, choice and repeat (first)
    std::size_t second = 0;
    unsigned min = 0;  // repeat
    unsigned max = 0;
  };
  using Ends = std::uint32_t;  // a bit for each position

  Pattern() = default;
  [[nodiscard]] Ends ends_of(const Node& node, std::size_t at, std::string_view text,
                             const std::vector<std::vector<Ends>>& known) const;

  std::vector<Node> nodes_;  // children stand before their parents; the last is the whole
};

}  // namespace reclaim::config
