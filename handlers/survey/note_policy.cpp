// Tags and policies of a device as its record is to have them (admission.h).
#include "handlers/survey/admission.h"
#include "handlers/survey/strictest.h"

namespace reclaim {

void note_policy(Assessment& assessment, const Record& record, const Sighting& sighting,
                 const std::optional<DevicePolicy>& policy) {
  // What is being cleaned is cleaned by what it was admitted with; of a device that cannot be seen
  // the last word stands.
  if (!policy || is_busy(record.stage) || sighting.rows.empty()) return;
  assessment.facts.tags = policy->tags;
  assessment.facts.policies = chosen_names(*policy);
  if (!assessment.first_seen) return;
  assessment.first_seen->tags = *assessment.facts.tags;
  assessment.first_seen->policies = *assessment.facts.policies;
}

}  // namespace reclaim
