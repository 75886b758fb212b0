// A device on ten lines: what it is, since when it stands where it stands, why, and what to do.
// Pure; thread: any.
#pragma once

#include <string>

#include "cli/format.h"
#include "state/base/clock.h"
#include "state/device/record.h"

namespace reclaim::cli {

// The note that an operator should see at a glance: the error, what it waits for, whose hand is on
// it; empty: nothing.
[[nodiscard]] std::string note_of(const Record& record);
// The instance, and the accelerator request, that it is with. The record of an available device
// still names the last ones.
[[nodiscard]] std::string tenant_of(const Record& record);
[[nodiscard]] std::string arq_of(const Record& record);

// The device in ten fields at most; a field that there is nothing to say of is left out. `host`:
// the host where the command runs, for the commands that it names.
[[nodiscard]] Fields device_summary(const Record& record, WallMs now, const std::string& host);

}  // namespace reclaim::cli
