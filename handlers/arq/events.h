// The ARQ table: every notification of an accelerator request that is listened to, the state it
// leaves the ARQ in, and why it matters. Cyborg emits none of these today; the names follow Nova's
// (object.action.phase), and docs/cyborg-notifications.md says them to whoever writes a notifier.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "state/device/arq.h"

namespace reclaim {

struct ArqRow {
  std::string_view event_type;
  ArqState state;  // of an ARQ whose payload names none
  bool binds;      // a tenancy begins: look now and record what is allocated
  std::string_view why;
};

inline constexpr std::string_view kArqEventPrefix = "accelerator_request.";

inline constexpr auto kArqTable = std::to_array<ArqRow>({
    {"accelerator_request.bind.start", ArqState::bind_started, true,
     "a device is being bound: it is in use from now on"},
    {"accelerator_request.bind.end", ArqState::bound, true,
     "a device was bound: it is reserved and recorded as allocated"},
    {"accelerator_request.bind.error", ArqState::bind_failed, true,
     "the binding failed after it may have claimed a device"},
    {"accelerator_request.unbind.start", ArqState::bound, false,
     "a device is being unbound; until that has ended it is held"},
    {"accelerator_request.unbind.end", ArqState::unbound, false,
     "the device was unbound and its allocation goes just after"},
    {"accelerator_request.unbind.error", ArqState::unbind_failed, false,
     "the unbinding failed: the device is held until Cyborg or an operator releases it"},
    {"accelerator_request.delete.start", ArqState::deleting, false,
     "the request is being deleted; until that has ended its device is held"},
    {"accelerator_request.delete.end", ArqState::unbound, false,
     "the request is gone and its device's allocation goes just after"},
    {"accelerator_request.delete.error", ArqState::deleting, false,
     "the deletion failed: the device is held until Cyborg or an operator releases it"},
});

// Seconds after an event that begins a tenancy. Nova allocates before it binds, so the first look
// finds the allocation; the second makes good for a Placement that was slow.
inline constexpr std::array<int, 2> kArqBindDelaysS{0, 5};

constexpr const ArqRow* find_arq_row(std::string_view event_type) {
  if (event_type.substr(0, kArqEventPrefix.size()) != kArqEventPrefix) return nullptr;
  for (const ArqRow& row : kArqTable) {
    if (event_type == row.event_type) return &row;
  }
  return nullptr;
}

namespace arq_table_rules {

constexpr bool every_action_has_every_phase() {
  std::size_t i = 0;
  for (const std::string_view action : {"bind", "unbind", "delete"}) {
    for (const std::string_view phase : {"start", "end", "error"}) {
      std::string_view rest = kArqTable[i].event_type;
      ++i;
      if (rest.substr(0, kArqEventPrefix.size()) != kArqEventPrefix) return false;
      rest.remove_prefix(kArqEventPrefix.size());
      if (rest.substr(0, action.size()) != action) return false;
      rest.remove_prefix(action.size());
      if (rest.substr(0, 1) != "." || rest.substr(1) != phase) return false;
    }
  }
  return i == kArqTable.size();
}

constexpr bool only_an_end_lets_go() {
  for (const ArqRow& row : kArqTable) {
    if (row.why.empty()) return false;
    const bool lets_go = row.state == ArqState::unbound || row.state == ArqState::initial;
    const std::string_view end = row.event_type.substr(row.event_type.size() - 4);
    if (lets_go && (end != ".end" || row.binds)) return false;
  }
  return true;
}

static_assert(every_action_has_every_phase(), "three actions, each with start, end and error");
static_assert(only_an_end_lets_go(), "a device is let go at an unbinding's or deletion's end only");

}  // namespace arq_table_rules
}  // namespace reclaim
