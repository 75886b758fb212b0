// Whether a drive is well enough to be given back, judged by its SMART log, and what the last
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
};

// `enrolled` is the state at the end of the last verification, nullptr where there is none: then no
// difference can be told. A counter that went backwards since is a problem: somebody reset it, or
// it is another drive.
[[nodiscard]] HealthJudgement judge_health(const HealthState& now, const HealthState* enrolled,
                                           const HealthLimits& limits);

}  // namespace reclaim::nvme
