#include "nvme/erase/rate_limit.h"

#include <algorithm>

namespace reclaim::nvme {

std::int64_t RateLimit::reserve_ms(std::uint64_t bytes) {
  if (bytes_per_s_max_ == 0) return 0;
  const std::lock_guard lock(mutex_);
  const std::int64_t now_us = clock_.now().mono.ms * 1000;
  const std::int64_t begin_us = std::max(free_at_us_, now_us);
  // The product is a double, which no number of bytes overflows.
  free_at_us_ = begin_us + static_cast<std::int64_t>(static_cast<double>(bytes) * 1e6 /
                                                     static_cast<double>(bytes_per_s_max_));
  return (begin_us - now_us + 999) / 1000;
}

}  // namespace reclaim::nvme
