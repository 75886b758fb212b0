// Tells what the conductor knows of this host's drives, in the words of Cyborg's agent. Reads only.
// Thread: the loop's.
#pragma once

#include <vector>

#include "handlers/conductor/assessor.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/reported_drive.h"

namespace reclaim {

// One entry for each drive of Cyborg's that a device_spec entry matches, by address.
[[nodiscard]] std::vector<ReportedDrive> agent_report(const ConductorContext& context,
                                                      const Assessor& assessor,
                                                      const DriveClaims& claims);

}  // namespace reclaim
