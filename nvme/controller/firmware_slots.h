// Finds the firmware slots that are not as they should be: one rule for what judges a drive and for
// what restores it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nvme/controller/controller_state.h"

namespace reclaim::nvme {

struct SlotDifference {
  std::uint8_t slot = 0;     // 1..7
  std::string revision;      // that it holds; empty: none
  std::string enrolled;      // that it held at the enrolment; empty: none, or not compared
  bool not_allowed = false;  // by the list, which is then all that counts
};

// Lowest slot first. `allowed` are the revisions of device_spec; empty: what counts is `enrolled`,
// and where that is nullptr nothing differs.
[[nodiscard]] std::vector<SlotDifference> differing_slots(const FirmwareState& now,
                                                          const FirmwareState* enrolled,
                                                          const std::vector<std::string>& allowed);

// True if another slot than the active one becomes active at the next reset.
[[nodiscard]] bool activation_waits(const FirmwareState& now);

}  // namespace reclaim::nvme
