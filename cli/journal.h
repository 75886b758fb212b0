// The journal of a host, read from a moment on, or from where one stopped. Thread: the session's.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "state/device/store.h"

namespace reclaim::cli {

// Where the entries of a moment begin, for journal_behind().
[[nodiscard]] std::string journal_id(WallMs since);

// What was written behind `after`, the id of an entry, oldest first, of which 20,000 are read at
// most: a journal keeps about 10,000. Fails where Redis cannot be read.
[[nodiscard]] Result<JournalPage> journal_behind(Session& session, const std::string& host,
                                                 const std::string& after);

struct JournalPlace {
  std::string host;
  std::string after;
};
// The same of many places, many at a time; in their order.
[[nodiscard]] std::vector<Result<JournalPage>> journals_behind(
    Session& session, const std::vector<JournalPlace>& places);

}  // namespace reclaim::cli
