#include "cli/timeline.h"

#include <string_view>
#include <utility>

namespace reclaim::cli {
namespace {

constexpr double kMsPerSecond = 1000;

bool rests(std::string_view stage) {
  return stage == to_string(Stage::available) || stage == to_string(Stage::allocated) ||
         stage == to_string(Stage::error);
}

double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / kMsPerSecond;
}

}  // namespace

Timeline timeline_of(const std::vector<JournalEntry>& journal, const std::string& address) {
  Timeline found;
  bool over = true;
  bool known = false;  // whether an entry told where the device was
  for (const JournalEntry& entry : journal) {
    if (entry.address != address) continue;
    const bool begins = rests(entry.from) && entry.to == to_string(Stage::pending_cleaning);
    const bool underway = !rests(entry.from);
    if (begins || (!known && underway)) {
      found = Timeline{};
      found.begins_late = !begins;
      over = false;
    }
    known = true;
    if (over) continue;
    Moment moment{entry};
    if (!found.moments.empty()) {
      moment.since_last_ms = entry.at.ms - found.moments.back().entry.at.ms;
      moment.since_first_ms = entry.at.ms - found.moments.front().entry.at.ms;
    }
    found.moments.push_back(std::move(moment));
    over = rests(entry.to);
  }
  return found;
}

Table timeline_table(const Timeline& timeline) {
  Table table{
      {"At", "Took", "Total", "Moment", "Stage", "Why", "Detail"}, {}, {"Why", "Detail", "Total"}};
  for (const Moment& moment : timeline.moments) {
    const JournalEntry& entry = moment.entry;
    table.rows.push_back({to_iso8601(entry.at), seconds(moment.since_last_ms),
                          seconds(moment.since_first_ms), entry.trigger, entry.to, entry.why,
                          entry.detail});
  }
  return table;
}

}  // namespace reclaim::cli
