// reclaim device show --timeline.
#pragma once

#include <iosfwd>

#include "cli/format.h"
#include "cli/session.h"
#include "state/device/record.h"

namespace reclaim::cli {

// Prints the last cleaning of the device, from its host's journal in Redis; the exit code. Where
// there is none, or its beginning is gone, `err` says so.
[[nodiscard]] int show_timeline(Session& session, const Record& record, const View& view,
                                std::ostream& out, std::ostream& err);

}  // namespace reclaim::cli
