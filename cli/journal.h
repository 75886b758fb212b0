// The journal of a host, read from a moment on, or from where one stopped. Thread: the session's.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "state/device/store.h"

namespace reclaim::cli {

// The id behind which the entries since a moment are, for journal_behind().
[[nodiscard]] std::string journal_id(WallMs since);

// Reads the entries behind `after`, the id of an entry, oldest first, and 20,000 at most: a journal
// keeps about 10,000. Fails where Redis cannot be read.
[[nodiscard]] Result<JournalPage> journal_behind(Session& session, const std::string& host,
                                                 const std::string& after);

struct JournalPlace {
  std::string host;
  std::string after;
};
// Reads the journals of many places as journal_behind() does, many at a time; in their order.
[[nodiscard]] std::vector<Result<JournalPage>> journals_behind(
    Session& session, const std::vector<JournalPlace>& places);

// One entry for people, with its line break; of a fleet with its host, else that is empty. Fitted
// to `width` columns; 0: to none.
[[nodiscard]] std::string journal_line(const std::string& host, const JournalEntry& entry,
                                       std::size_t width);

}  // namespace reclaim::cli
