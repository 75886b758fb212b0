#include "listener/amqp/retry.h"

#include <algorithm>

#include "state/base/check.h"

namespace reclaim::listener {

std::int64_t retry_delay_ms(const AmqpOptions& options, std::uint32_t failures,
                            std::uint32_t random) {
  if (failures == 0 || failures % options.hosts.size() != 0) return 0;
  const auto rounds = static_cast<std::int64_t>(failures / options.hosts.size());
  const std::int64_t maximum = options.reconnect_max_ms;
  // Far fewer rounds than it would take to overflow make the maximum already.
  const std::int64_t more = std::min<std::int64_t>(rounds - 1, 1'000'000);
  const std::int64_t plain = std::min<std::int64_t>(
      options.reconnect_interval_ms + more * options.reconnect_backoff_ms, maximum);
  const std::int64_t quarter = plain / 4;
  const std::int64_t jitter =
      quarter == 0 ? 0 : static_cast<std::int64_t>(random) % (2 * quarter + 1) - quarter;
  return plain + jitter;
}

std::size_t host_for_attempt(std::size_t host_count, std::size_t start, std::uint64_t attempt) {
  CHECK(host_count > 0);
  return static_cast<std::size_t>((start + attempt) % host_count);
}

}  // namespace reclaim::listener
