// CHECK: an assertion that is always on, also in release builds. A broken invariant ends the
// process; systemd starts it again and the state machine's `restarted` rows take over (crash-only).
#pragma once

namespace reclaim {
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace reclaim

#define CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::reclaim::check_failed(#expression, __FILE__, __LINE__))
