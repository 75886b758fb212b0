#include "handlers/survey/observed.h"

#include <fmt/core.h>

#include "handlers/survey/plan.h"

namespace reclaim {

void only_observe(Assessment& assessment, const Record& record) {
  std::string what;
  if (assessment.reserve || !assessment.reserve_too.empty()) {
    what = "reserve it, which is on offer and not known to be clean";
  } else if (assessment.take_out) {
    what = record.maintenance ? "reserve it, which is in maintenance"
                              : "reserve it, which an instance may have had unseen";
  } else if (assessment.give_back) {
    what = "un-reserve it, which was taken out of the pool, for its certificate stands";
  }
  assessment.reserve = assessment.take_out = assessment.give_back = false;
  assessment.reserve_too.clear();
  // It stays on offer, and would be found to be so with each survey.
  const bool again = record.stage != Stage::available;
  if (assessment.trigger == Trigger::reserved_dropped && again) assessment.trigger.reset();
  if (what.empty()) return;
  assessment.waiting_for = fmt::format("{}{}", kObserved, what);
  if (assessment.trigger) assessment.facts.detail = assessment.waiting_for;
}

std::string would_clean(const std::vector<CleanStep>& plan) {
  return fmt::format("{}clean it now: {}", kObserved, describe_plan(plan));
}

}  // namespace reclaim
