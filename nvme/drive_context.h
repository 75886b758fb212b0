// A claimed drive, and what all that is done to it works with.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/erase/rate_limit.h"
#include "nvme/host/claim.h"
#include "nvme/options.h"
#include "state/base/clock.h"
#include "state/base/log.h"

namespace reclaim::nvme {

using ReportProgress = std::function<void(EraseProgress)>;

// `clock` and `log` outlive the drive. Thread: the drive's.
struct DriveContext {
  Options options;
  Claim claim;
  const Clock& clock;
  Logger& log;
  // The limit on zeroing and of reading in bulk, all drives of the host together; nullptr: none.
  std::shared_ptr<RateLimit> host_rate = nullptr;

  // The host's limits, for a sweep. Valid as long as the drive.
  [[nodiscard]] std::vector<RateLimit*> host_rates() const {
    return host_rate == nullptr ? std::vector<RateLimit*>{} : std::vector{host_rate.get()};
  }
};

}  // namespace reclaim::nvme
