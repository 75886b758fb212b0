// `reclaim doctor`'s look at the bus: every broker host is logged in to, and the exchanges are
// looked for; and the queues of Nova's notifier. Nothing is declared and nothing consumed. Blocks;
// thread: the caller's.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "state/base/bus_queue.h"
#include "state/base/result.h"

namespace reclaim::listener {

// Tells what was found, or the first thing that is wrong.
[[nodiscard]] Result<std::string> check_broker(const config::Settings& settings);

// The queues of Nova's notifier that exist, with their messages and consumers: at the first host
// that answers, since all of a cluster show the same.
[[nodiscard]] Result<std::vector<BusQueue>> look_at_queues(const config::Settings& settings);

}  // namespace reclaim::listener
