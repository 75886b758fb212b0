#include "handlers/survey/admitted_plan.h"

#include <fmt/core.h>

#include "handlers/survey/function_plan.h"
#include "handlers/survey/named_plan.h"
#include "handlers/survey/plan.h"

namespace reclaim {
namespace {

// The steps are always those of today: none of them is an erase that may be running still.
Result<std::vector<CleanStep>> function_plan_of(const Record& record, const Planning& planning) {
  return is_whole_function_plan(record.plan)
             ? with_own_steps(record.plan, planning.policy->steps, planning.options)
             : make_function_plan(*planning.policy, planning.options);
}

// No runtime fallback, and no other method because the configuration changed since the plan was
// locked in. An operator's own steps are those of today as long as the erase has not begun.
Result<std::vector<CleanStep>> drive_plan_of(const Record& record, const nvme::DriveFacts& drive,
                                             const Planning& planning) {
  if (is_whole(record.plan)) {
    return with_own_steps(record.plan, planning.policy->steps, planning.options);
  }
  if (!drive.identity) return make_plan(std::nullopt, *planning.policy, planning.options);
  const auto method = planning.choose_method(*planning.policy, drive.identity->capabilities);
  if (!method) return method.error();
  return make_plan(*method, *planning.policy, planning.options);
}

}  // namespace

Facts facts_at_admission(const Sighting& sighting) {
  Facts facts;
  facts.cyborg_status = sighting.cyborg_status;
  facts.vendor_id = fmt::format("{:04x}", sighting.drive->vendor_id);
  facts.product_id = fmt::format("{:04x}", sighting.drive->device_id);
  facts.provider = sighting.view->uuid;
  facts.provider_name = sighting.rows.front().name;
  facts.resource_class = sighting.view->inventories.front().resource_class;
  return facts;
}

Result<std::vector<CleanStep>> admitted_plan(const Record& record, const nvme::DriveFacts& drive,
                                             const Planning& planning) {
  // Locked in: its erase may be running still.
  if (is_whole(record.plan) && record.erase_begun) return record.plan;
  auto plan =
      record.by_steps ? function_plan_of(record, planning) : drive_plan_of(record, drive, planning);
  if (!plan) return plan;
  return with_named_steps(record, *std::move(plan), *planning.policy, planning.options);
}

}  // namespace reclaim
