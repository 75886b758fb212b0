// The two processes of Reclaim: the worker, which has the drives, and the device API, which has
// none. Each runs its loop until it is told to stop.
#pragma once

#include "config/load.h"
#include "config/settings.h"
#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim::listener {

// EX_CONFIG of sysexits.h: the units do not start a process again that ended with it, for that
// would mend nothing.
inline constexpr int kExitConfiguration = 78;

[[nodiscard]] inline int exit_code_of(const Error& error) {
  return error.code == Errc::invalid ? kExitConfiguration : 1;
}

// `reclaim serve`, `reclaim api`. The exit code once it was stopped; the error: it did not start.
// `files`: where the settings are from.
[[nodiscard]] Result<int> run_worker(const config::Settings& settings,
                                     const config::LoadRequest& files, Logger& log);
[[nodiscard]] Result<int> run_api(const config::Settings& settings,
                                  const config::LoadRequest& files, Logger& log);

}  // namespace reclaim::listener
