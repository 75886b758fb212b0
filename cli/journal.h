// The journal of a host, read whole or from a moment on. Thread: the session's.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "state/device/store.h"

namespace reclaim::cli {

// What was written since, oldest first, of which 20,000 are read at most: a journal keeps about
// 10,000. Fails where Redis cannot be read.
[[nodiscard]] Result<std::vector<JournalEntry>> journal_since(Session& session,
                                                              const std::string& host,
                                                              WallMs since);

}  // namespace reclaim::cli
