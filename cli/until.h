// The end of something, as an operator names it. Pure but for the machine's time zone. Thread: any.
#pragma once

#include <string_view>

#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::cli {

// "06:00" (the next time that it is so late), "2026-11-30T06:00", both in this machine's time zone,
// "2026-11-30T05:00:00Z", as lists have it, or how long from now: "90m", "8h", "2d". Errc::usage
// says what is accepted.
[[nodiscard]] Result<WallMs> parse_until(std::string_view text, WallMs now);

// "2026-11-30 06:00 CET", in this machine's time zone.
[[nodiscard]] std::string local_time_text(WallMs at);

}  // namespace reclaim::cli
