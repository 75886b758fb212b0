// Resolves the policy of a device while nobody has it, and notes it in its record (admission.h).
#include "handlers/survey/admission.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/named_plan.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"

namespace reclaim {
namespace {

using Plan = Result<std::vector<CleanStep>>;

// The plan that policy and capabilities give today, or why none will do; nothing: what the drive
// can is not known yet.
std::optional<Plan> plan_of_today(const Record& record, const nvme::DriveFacts& drive,
                                  const Planning& planning) {
  const DevicePolicy& policy = *planning.policy;
  if (std::string why = why_unknown(policy); !why.empty()) {
    return Plan(Error{Errc::refused, std::move(why)});
  }
  if (record.by_steps) {
    if (Status able = check_function_plan(policy); !able) return Plan(able.error());
    return make_function_plan(policy, planning.options);
  }
  if (!drive.identity) {
    // A drive's capabilities are not known before it is claimed; what was resolved for an earlier
    // configuration counts no more.
    if (policy.managed) return std::nullopt;
    return make_plan(std::nullopt, policy, planning.options);
  }
  const auto method = planning.choose_method(policy, drive.identity->capabilities);
  if (!method) return Plan(method.error());
  return make_plan(*method, policy, planning.options);
}

}  // namespace

void resolve_policy(Assessment& assessment, const Record& record, const Sighting& sighting,
                    const Planning& planning) {
  // One that is in use when it is first seen shows its steps, too; what its drive can, and so its
  // erase, is known later, and the plan is made again then.
  const bool used = sighting.view && !sighting.view->free();
  if (assessment.first_seen && used && planning.policy && record.cleanable()) {
    assessment.first_seen->plan = record.by_steps
                                      ? make_function_plan(*planning.policy, planning.options)
                                      : make_plan(std::nullopt, *planning.policy, planning.options);
  }
  const bool offered = record.stage == Stage::available && !assessment.trigger && sighting.view &&
                       sighting.view->is_device() && sighting.view->free() && record.cleanable();
  if (!offered || !planning.policy || !sighting.drive) return;
  const auto plan = plan_of_today(record, *sighting.drive, planning);
  if (!plan) return;
  if (*plan) {
    assessment.plan = **plan;
    return;
  }
  if (sighting.view->burned()) return;
  assessment.trigger = Trigger::policy_unsatisfied;
  assessment.reserve = true;
  assessment.facts.detail = plan->error().what;
}

void note_policy(Assessment& assessment, const Record& record, const Sighting& sighting,
                 const Planning& planning) {
  const std::optional<DevicePolicy>& policy = planning.policy;
  // Nothing is offered where no entry matches.
  if (sighting.drive && !is_busy(record.stage)) {
    assessment.facts.steps_offered = policy && record.cleanable()
                                         ? offered_steps(*policy, planning.options, record.by_steps)
                                         : std::vector<CleanStep>{};
    if (assessment.first_seen) {
      assessment.first_seen->steps_offered = *assessment.facts.steps_offered;
    }
  }
  // A device that is being cleaned is cleaned by what it was admitted with; of one that cannot be
  // seen the last word stands.
  if (!policy || is_busy(record.stage) || sighting.rows.empty()) return;
  assessment.facts.tags = policy->tags;
  assessment.facts.policies = chosen_names(*policy);
  if (!assessment.first_seen) return;
  assessment.first_seen->tags = *assessment.facts.tags;
  assessment.first_seen->policies = *assessment.facts.policies;
}

}  // namespace reclaim
