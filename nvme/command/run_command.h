// Runs a step of an operator's own to its end. Blocking; thread: the drive's. Errors: see
// Drives::run_command.
#pragma once

#include <functional>

#include "nvme/command/command.h"
#include "nvme/command/options.h"
#include "nvme/stop_flag.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim::nvme {

[[nodiscard]] Result<CommandReport> run_command(
    const Command& command, const CommandOptions& options,
    const std::function<void(CommandProgress)>& on_progress, StopFlag& stop, const Clock& clock,
    Logger& log);

}  // namespace reclaim::nvme
