// Decides which broker is tried next and when. Pure: randomness comes in as a number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "listener/amqp/options.h"

namespace reclaim::listener {

// Milliseconds to wait after the `failures`-th failure in a row (1 for the first): the interval,
// plus the backoff for each further failure, at most the maximum, with jitter of a quarter up or
// down so that a restarted broker does not meet every listener at once. Reaching for the next host
// of a round costs no wait: `host_count` failures make one round.
[[nodiscard]] std::int64_t retry_delay_ms(const AmqpOptions& options, std::uint32_t failures,
                                          std::uint32_t random);

// The host for the `attempt`-th connection (0 for the first): in turn from `start` on.
[[nodiscard]] std::size_t host_for_attempt(std::size_t host_count, std::size_t start,
                                           std::uint64_t attempt);

}  // namespace reclaim::listener
