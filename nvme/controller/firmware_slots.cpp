#include "nvme/controller/firmware_slots.h"

#include <algorithm>

namespace reclaim::nvme {

std::vector<SlotDifference> differing_slots(const FirmwareState& now, const FirmwareState* enrolled,
                                            const std::vector<std::string>& allowed) {
  std::vector<SlotDifference> out;
  for (std::size_t i = 0; i < now.revisions.size(); ++i) {
    const std::string& revision = now.revisions[i];
    const auto slot = static_cast<std::uint8_t>(i + 1);
    if (!allowed.empty()) {
      const bool known = std::find(allowed.begin(), allowed.end(), revision) != allowed.end();
      if (!revision.empty() && !known) out.push_back(SlotDifference{slot, revision, "", true});
      continue;
    }
    if (enrolled == nullptr) continue;
    const std::string was = i < enrolled->revisions.size() ? enrolled->revisions[i] : "";
    if (revision != was) out.push_back(SlotDifference{slot, revision, was, false});
  }
  return out;
}

bool activation_waits(const FirmwareState& now) {
  return now.next_slot != 0 && now.next_slot != now.active_slot;
}

}  // namespace reclaim::nvme
