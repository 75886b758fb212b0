// Judges by a drive's SMART log whether it is well enough to be given back, and what the last
// tenancy did to it. Pure.
#pragma once

#include <string>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "nvme/controller/facts.h"
#include "nvme/rules.h"

namespace reclaim::nvme {

struct HealthJudgement {
  std::vector<StepFinding> findings;  // told of a healthy drive too
  std::vector<std::string> problems;  // sentences with their remedy; empty: healthy
  std::string waits_for;              // what passes by itself, and is no problem; empty: nothing
};

// The state at the end of the last verification.
struct EnrolledHealth {
  HealthState health;
  // True if it is the same drive by its serial and model. Where it is not known to be, a counter
  // that went backwards is a problem; otherwise it is told: some drives lose theirs with their
  // power.
  bool same_drive = true;
};

// `enrolled` is nullptr where there is none: then no difference can be told.
[[nodiscard]] HealthJudgement judge_health(const HealthState& now, const EnrolledHealth* enrolled,
                                           const Rules& rules);

// Says that the drive is outside its temperature thresholds, which passes by itself, and the
// remedy; empty: it is not, or its operator puts up with that.
[[nodiscard]] std::string why_not_now(const HealthState& now, const Rules& rules);

}  // namespace reclaim::nvme
