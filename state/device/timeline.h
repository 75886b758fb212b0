// The times at which a cleaning reached its stages: for its certificate, and to show where time
// goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/base/clock.h"
#include "state/base/result.h"
#include "state/device/machine.h"

namespace reclaim {

struct StageMark {
  Stage stage = Stage::pending_cleaning;
  WallMs at;  // the host's clock, which may be set in between
  friend bool operator==(const StageMark&, const StageMark&) = default;
};

// `timeline` is in the order in which they were reached, with at most one of each stage: it begins
// anew with pending_cleaning, and a stage that is reached again counts from then. Where a device
// rests (available, allocated, error) is no part of it.
void note_stage(std::vector<StageMark>& timeline, Stage stage, WallMs at);

// JSON array of {stage, at}.
[[nodiscard]] std::string encode_timeline(const std::vector<StageMark>& timeline);
[[nodiscard]] Result<std::vector<StageMark>> decode_timeline(std::string_view text);

}  // namespace reclaim
