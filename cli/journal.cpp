#include "cli/journal.h"

#include <fmt/core.h>

#include <iterator>
#include <numeric>
#include <utility>

#include "cli/fit.h"
#include "cli/format.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

constexpr std::size_t kEntriesAtOnce = 500;
constexpr std::size_t kEntriesMax = 20'000;

// True if more may follow.
bool append(JournalPage page, JournalPage& all) {
  const bool whole = page.entries.size() == kEntriesAtOnce;
  std::move(page.entries.begin(), page.entries.end(), std::back_inserter(all.entries));
  all.last_id = std::move(page.last_id);
  return whole && all.entries.size() < kEntriesMax;
}

}  // namespace

std::string journal_id(WallMs since) {
  return fmt::format("{}-0", since.ms);
}

Result<JournalPage> journal_behind(Session& session, const std::string& host,
                                   const std::string& after) {
  return std::move(journals_behind(session, {{host, after}}).front());
}

std::vector<Result<JournalPage>> journals_behind(Session& session,
                                                 const std::vector<JournalPlace>& places) {
  auto store = session.store();
  if (!store) return std::vector<Result<JournalPage>>(places.size(), store.error());
  std::vector<Result<JournalPage>> all;
  all.reserve(places.size());
  for (const JournalPlace& place : places) all.emplace_back(JournalPage{{}, place.after});
  std::vector<std::size_t> open(places.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  while (!open.empty()) {
    auto pages = session.wait_each<JournalPage>(open.size(), [&](std::size_t i, auto done) {
      const std::size_t at = open[i];
      (*store)->read_journal(places[at].host, all[at]->last_id, kEntriesAtOnce, std::move(done));
    });
    std::vector<std::size_t> more;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t at = open[i];
      if (!pages[i]) {
        all[at] = pages[i].error();
      } else if (append(*std::move(pages[i]), *all[at])) {
        more.push_back(at);
      }
    }
    open = std::move(more);
  }
  return all;
}

std::string journal_line(const std::string& host, const JournalEntry& entry, std::size_t width) {
  const std::string place = fmt::format("{} {}{}{}", to_iso8601_seconds(entry.at), host,
                                        host.empty() ? "" : " ", entry.address);
  const std::string moved =
      entry.from == entry.to ? entry.trigger : fmt::format("{} -> {}", entry.from, entry.to);
  const std::string told =
      fmt::format("{}{}{}", entry.why, entry.detail.empty() ? "" : "; ", entry.detail);
  std::string line = visible(fmt::format("{} {:<34} {}", place, moved, told));
  if (width == 0 || display_width(line) <= width) return line + '\n';
  return hanging(visible(fmt::format("{} {}: {}", place, moved, told)), width);
}

}  // namespace reclaim::cli
