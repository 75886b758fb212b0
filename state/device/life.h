// The turns of an instance's life on one host, as a notification tells them. Pure; thread: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "state/base/enum_names.h"
#include "state/base/result.h"

namespace reclaim {

enum class Life : std::uint8_t {
  untold,
  begins,
  ends,
  fails,  // it has ended before it was told that it began
};

inline constexpr auto kLives = enum_names<Life::fails>("", "begins", "ends", "fails");

[[nodiscard]] constexpr std::string_view to_string(Life life) {
  return kLives[life];
}
[[nodiscard]] inline Result<Life> parse_life(std::string_view text) {
  if (const auto life = kLives.find(text)) return *life;
  return Error{Errc::invalid, "begins, ends or fails is needed"};
}

}  // namespace reclaim
