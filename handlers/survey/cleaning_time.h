// Bounds how long one cleaning may take: from the moment its guards have passed until nothing but
// the release is left. Pure; thread: any.
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

// The sum of cleanup_timeout, as the locked plan has it, and of what parts take whose length is
// known: a sanitize by the drive's own estimate (nvme/controller/sanitize.h), zeroing and reading
// by the capacity, an operator's own steps by their own limits. `capacity_bytes`: of the drive when
// it was verified last; a tenant may have left less of it. A part gets a week at most, even where
// the drive claims that it needs more.
[[nodiscard]] CleaningTime cleaning_time(const std::vector<CleanStep>& plan,
                                         const DevicePolicy& policy,
                                         const ConductorOptions& options,
                                         const nvme::DriveFacts& drive,
                                         std::uint64_t capacity_bytes);

}  // namespace reclaim
