// How long one cleaning may take: from the moment its guards have passed until nothing but the
// release is left. Pure; thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "handlers/options.h"
#include "nvme/controller/facts.h"
#include "state/device/record.h"

namespace reclaim {

struct CleaningTime {
  std::int64_t limit_ms = 0;
  std::string how;  // "at most 4500 s: 900 cleanup_timeout, 3600 to zero 360 GB"
};

// cleanup_timeout, as the locked plan has it, bounds all whose length is nobody's to choose. Beside
// it stands what takes as long as it takes: a sanitize by the drive's own estimate
// (nvme/controller/sanitize.h), zeroing and reading by the capacity, and an operator's own steps by
// their own limits. `capacity_bytes`: of the drive when it was verified last; a tenant may have
// left less of it. No part gets more than a week, whatever a drive says of itself.
[[nodiscard]] CleaningTime cleaning_time(const std::vector<CleanStep>& plan,
                                         const DevicePolicy& policy,
                                         const ConductorOptions& options,
                                         const nvme::DriveFacts& drive,
                                         std::uint64_t capacity_bytes);

}  // namespace reclaim
