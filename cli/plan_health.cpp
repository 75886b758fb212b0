#include "cli/plan_health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "handlers/survey/plan.h"
#include "nvme/controller/controller_state.h"
#include "nvme/controller/health.h"

namespace reclaim::cli {

std::string why_kept_back(const nvme::DriveFacts& drive, const Record& record,
                          const DevicePolicy& policy, const std::vector<CleanStep>& plan) {
  if (!drive.health || !judges_health(plan)) return {};
  nvme::EnrolledHealth enrolled;
  const auto state = nvme::decode_controller_state(record.enrolment);
  if (state) enrolled.health = state->health;
  const nvme::HealthJudgement judgement =
      nvme::judge_health(*drive.health, state ? &enrolled : nullptr, policy.rules);
  if (judgement.problems.empty()) return {};
  return fmt::format("it is going to be erased, and not returned: {}",
                     fmt::join(judgement.problems, "; also "));
}

}  // namespace reclaim::cli
