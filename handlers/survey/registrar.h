// Registrar: what Placement is to know of a drive that no provider stands for yet (Cyborg NVMe
// specification, "Placement Integration"). Pure; who registers what, and when, is the conductor's
// business (handlers/conductor/registration.h).
#pragma once

#include <string>

#include "nvme/controller/facts.h"
#include "placement/providers.h"
#include "state/base/result.h"

namespace reclaim {

// The provider to be made below `root_uuid`, the compute node's. Refused where the drive does not
// say what it can: its traits would be wrong.
[[nodiscard]] Result<placement::NewDevice> new_device(const std::string& host,
                                                      const std::string& root_uuid,
                                                      const nvme::DriveFacts& drive);

}  // namespace reclaim
