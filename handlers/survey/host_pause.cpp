#include "handlers/survey/host_pause.h"

#include <fmt/core.h>

namespace reclaim {

std::optional<HostPause> host_pause(const std::map<PciAddress, LedgerEntry>& lines, WallMs now) {
  const LedgerEntry* longest = nullptr;
  for (const auto& [address, line] : lines) {
    // One of more than a week was judged by a clock that has been set since.
    const std::int64_t left_ms = line.paused_until.ms - now.ms;
    if (left_ms <= 0 || left_ms > kPauseMaxMs) continue;
    if (longest == nullptr || longest->paused_until < line.paused_until) longest = &line;
  }
  if (longest == nullptr) return std::nullopt;
  return HostPause{longest->paused_until, longest->paused_by};
}

std::string paused_note(const HostPause& pause, const std::string& host) {
  return fmt::format("{}{} by {}; `reclaim host resume {}` ends that", kPaused,
                     to_iso8601_seconds(pause.until), pause.by, host);
}

std::string why_no_pause(const Order& order, WallMs now) {
  if (order.reason.empty()) return "it gives no reason: issue it again with --reason TEXT";
  if (order.until <= now) return "its time is over, or it names none: issue it again with --until";
  if (order.until.ms - now.ms > kPauseMaxMs) {
    return fmt::format(
        "it would last longer than {} days, which is the limit: name an earlier time",
        kPauseMaxMs / 86'400'000);
  }
  return {};
}

}  // namespace reclaim
