// `reclaim doctor`'s look at the bus: every broker host is logged in to, and the exchanges are
// looked for. Nothing is declared and nothing consumed. Blocks; thread: the caller's.
#pragma once

#include <string>

#include "config/settings.h"
#include "state/base/result.h"

namespace reclaim::listener {

// What was found, or the first thing that is wrong.
[[nodiscard]] Result<std::string> check_broker(const config::Settings& settings);

}  // namespace reclaim::listener
