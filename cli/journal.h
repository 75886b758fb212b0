// The journal of a host, read from a moment on, or from where one stopped. Thread: the session's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/session.h"
#include "state/device/store.h"

namespace reclaim::cli {

inline constexpr std::size_t kJournalEntriesAtOnce = 500;

// Where the entries of a moment begin, for journal_behind().
[[nodiscard]] std::string journal_id(WallMs since);

// What was written behind `after`, the id of an entry, oldest first, of which 20,000 are read at
// most: a journal keeps about 10,000. Fails where Redis cannot be read.
[[nodiscard]] Result<JournalPage> journal_behind(Session& session, const std::string& host,
                                                 const std::string& after);

}  // namespace reclaim::cli
