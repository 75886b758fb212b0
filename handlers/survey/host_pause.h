// "Nothing tonight on this rack": an operator's word that no cleaning begins on a host for a while.
// Any line of the ledger may have it, for it is given of the host's devices; the one that lasts
// longest counts, and for all of them. Pure; thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/clock.h"
#include "state/device/order.h"
#include "state/ledger/ledger.h"

namespace reclaim {

// Longer ones are for `device set --maintenance`, or for disabling the host in Nova.
inline constexpr std::int64_t kPauseMaxMs = 7LL * 86'400'000;

struct HostPause {
  WallMs until;
  std::string by;  // "operator alice@controller-1: power work"
};

[[nodiscard]] std::optional<HostPause> host_pause(const std::map<PciAddress, LedgerEntry>& lines,
                                                  WallMs now);
// The note for a device that waits: until when, who, why, and what ends it.
inline constexpr std::string_view kPaused = "its host is paused until ";
[[nodiscard]] std::string paused_note(const HostPause& pause, const std::string& host);

// The reason why an order to pause is none; empty: it is one.
[[nodiscard]] std::string why_no_pause(const Order& order, WallMs now);

}  // namespace reclaim
