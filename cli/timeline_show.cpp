#include "cli/timeline_show.h"

#include <fmt/core.h>

#include <ostream>
#include <utility>

#include "cli/complain.h"
#include "cli/journal.h"
#include "cli/timeline.h"

namespace reclaim::cli {

int show_timeline(Session& session, const Record& record, const View& view, std::ostream& out,
                  std::ostream& err) {
  const std::string address = to_string(record.address);
  Result<std::string> text = std::string();
  const auto journal = journal_behind(session, record.host, journal_id(WallMs{}));
  if (!journal) {
    text = journal.error();
  } else {
    const Timeline timeline = timeline_of(journal->entries, address);
    if (timeline.moments.empty()) {
      say(err, fmt::format("the journal of host {} has no cleaning of {}; it keeps about 10,000 "
                           "transitions, the certificate what came of older ones",
                           record.host, address));
    } else if (timeline.begins_late) {
      say(err, fmt::format("the journal of host {} has lost how this cleaning of {} began",
                           record.host, address));
    }
    text = format_list(timeline_table(timeline), view);
  }
  if (!text) return complain(err, text.error());
  out << *text;
  return 0;
}

}  // namespace reclaim::cli
