// Time as values. The core never reads a clock: `now` is handed to it. Wall time is for people and
// records, monotonic time for deadlines; the two are different types so that they cannot be mixed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim {

// Milliseconds since 1970-01-01T00:00:00Z.
struct WallMs {
  std::int64_t ms = 0;
  friend constexpr auto operator<=>(const WallMs&, const WallMs&) = default;
};

// Milliseconds of a clock that never goes back; its zero means nothing.
struct MonoMs {
  std::int64_t ms = 0;
  friend constexpr auto operator<=>(const MonoMs&, const MonoMs&) = default;
};

struct Now {
  WallMs wall;
  MonoMs mono;
};

// Thread: any.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Now now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Now now() const override;
};

// "2026-11-20T21:22:44.123Z".
[[nodiscard]] std::string to_iso8601(WallMs at);
// "2026-11-20T21:22:44Z", for people.
[[nodiscard]] std::string to_iso8601_seconds(WallMs at);
// Accepts OpenStack's forms too, without fraction or with microseconds; refuses a 31 November.
[[nodiscard]] Result<WallMs> from_iso8601(std::string_view text);

}  // namespace reclaim
