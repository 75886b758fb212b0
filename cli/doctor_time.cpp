// reclaim doctor: how long a cleaning may take.
#include <fmt/core.h>

#include <utility>

#include "cli/doctor_checks.h"
#include "config/module_options.h"
#include "handlers/survey/cleaning_time.h"
#include "handlers/survey/plan.h"

namespace reclaim::cli {

void check_cleaning_time(const config::Settings& settings,
                         const std::vector<nvme::DriveFacts>& drives, Chart& chart) {
  const auto lookup = config::device_policy_lookup(settings);
  const nvme::DriveFacts* slowest = nullptr;
  CleaningTime longest;
  for (const nvme::DriveFacts& drive : drives) {
    const auto policy = lookup(drive.vendor_id, drive.device_id, drive.address);
    if (!policy || !drive.identity) continue;
    const auto method = config::method_choice()(*policy, drive.identity->capabilities);
    if (!method) continue;
    CleaningTime time = cleaning_time(make_plan(*method, *policy, settings.conductor), *policy,
                                      settings.conductor, drive, 0);
    if (time.limit_ms <= longest.limit_ms) continue;
    longest = std::move(time);
    slowest = &drive;
  }
  if (slowest == nullptr) return;
  chart.ok("cleaning time", fmt::format("of {}, which may take longest, {}",
                                        to_string(slowest->address), longest.how));
}

}  // namespace reclaim::cli
