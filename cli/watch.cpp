// reclaim watch: the journal of a host as it is written, and the progress of what runs.
#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/journal.h"
#include "cli/progress_line.h"
#include "cli/records.h"
#include "state/device/machine.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kLookEveryMs = 200;
constexpr std::size_t kLinesAtOnceMax = 500;

bool idle(const std::vector<Record>& records) {
  return std::none_of(records.begin(), records.end(), [](const Record& record) {
    return is_busy(record.stage) || record.stage == Stage::pending_cleaning;
  });
}

// One host that is followed.
struct Followed {
  std::string host;
  std::string after;  // the last entry read
  bool lost = false;  // what is stored of it cannot be read: the others are followed
};

struct News {
  bool worked = false;  // something was released, or went to error
  bool quiet = true;    // no entry, and nothing is pending or being cleaned
  bool more = false;    // the journal has more than was read at once
};

Result<News> look(Session& session, Followed& followed, bool fleet, ProgressLine& progress,
                  std::ostream& out) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  const auto journal = session.wait<JournalPage>([&](auto done) {
    (*store)->read_journal(followed.host, followed.after, kLinesAtOnceMax, std::move(done));
  });
  if (!journal) return journal.error();
  const auto records = load_records(session, followed.host);
  if (!records) return records.error();
  const std::string host = fleet ? followed.host : "";
  News news;
  for (const JournalEntry& entry : journal->entries) {
    progress.clear();
    out << journal_line(host, entry, line_width(out)) << std::flush;
    news.worked = news.worked || ends_well(entry.trigger) || entry.to == "error";
  }
  followed.after = journal->last_id;
  progress.show(host, *records);
  news.quiet = journal->entries.empty() && idle(*records);
  news.more = journal->entries.size() >= kLinesAtOnceMax;
  return news;
}

Result<std::vector<Followed>> followed_hosts(Session& session, const WatchOptions& options) {
  const std::string after = options.from_start ? "0-0" : "$";
  std::vector<std::string> named;
  if (!options.host.empty()) named.push_back(options.host);
  const auto hosts = chosen_hosts(session, named, options.all_hosts, options.labels);
  if (!hosts) return hosts.error();
  if (hosts->empty()) return Error{Errc::not_found, "no worker has announced itself here"};
  std::vector<Followed> followed;
  for (const std::string& host : *hosts) followed.push_back({host, after, false});
  return followed;
}

}  // namespace

int run_watch(Session& session, const WatchOptions& options, std::ostream& out, std::ostream& err) {
  ProgressLine progress(out);
  const auto failed = [&](const Error& error) {
    progress.clear();
    return complain(err, error);
  };
  auto hosts = followed_hosts(session, options);
  if (!hosts) return failed(hosts.error());
  const std::int64_t begun = session.clock().now().mono.ms;
  const bool many = options.all_hosts || !options.labels.empty();
  bool worked = false;
  for (;;) {
    bool quiet = true;
    bool more = false;
    for (Followed& followed : *hosts) {
      if (followed.lost) continue;
      const auto news = look(session, followed, many, progress, out);
      if (!news) {
        const int code = failed(news.error());
        if (!many || !is_of_what_is_stored(news.error())) return code;
        followed.lost = true;
        continue;
      }
      worked = worked || news->worked;
      quiet = quiet && news->quiet;
      more = more || news->more;
    }
    if (options.until_idle && worked && quiet) return 0;
    const std::int64_t spent = session.clock().now().mono.ms - begun;
    if (options.timeout_s > 0 && spent > static_cast<std::int64_t>(options.timeout_s) * 1000) {
      progress.clear();
      say(err, fmt::format("reclaim: nothing more within {} s", options.timeout_s));
      return 1;
    }
    if (!more) session.run_until([] { return false; }, kLookEveryMs);
  }
}

}  // namespace reclaim::cli
