// The time line of a device's last or running cleaning, from the journal of its host: when each
// transition was, and how long it took since the one before. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/format.h"
#include "state/device/store.h"

namespace reclaim::cli {

// One transition of the cleaning.
struct Moment {
  JournalEntry entry;
  std::int64_t since_last_ms = 0;   // since the moment before; 0 for the first
  std::int64_t since_first_ms = 0;  // since the first one
};

struct Timeline {
  std::vector<Moment> moments;  // oldest first; empty: the journal has no cleaning of the device
  // The journal has lost how the cleaning began: the moments start where the journal does.
  bool begins_late = false;
};

// `journal` is that of the device's host, oldest first. A cleaning begins when a device that rests
// (available, allocated, error) becomes pending_cleaning, and ends when it rests again. What is
// interrupted and starts over meanwhile is one cleaning. Where a clock was set back, a duration is
// shown as it was written, below zero.
[[nodiscard]] Timeline timeline_of(const std::vector<JournalEntry>& journal,
                                   const std::string& address);

// A row a moment; durations in seconds, as numbers.
[[nodiscard]] Table timeline_table(const Timeline& timeline);

}  // namespace reclaim::cli
