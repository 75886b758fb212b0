// Looks for what keeps the worker from starting on this host: a drive with two claimants. `config
// check` and `doctor` ask by this one function; the worker asks config/claims.h with the drives
// that it discovered.
#pragma once

#include "config/settings.h"
#include "state/base/result.h"

namespace reclaim::cli {

// The drives are those of [reclaim] sysfs_root, and no device node is opened. Errc::invalid: as
// config::check_claims() has it; other errors: the drives could not be looked at. Thread: any;
// blocking.
[[nodiscard]] Status check_claims_here(const config::Settings& settings);

}  // namespace reclaim::cli
