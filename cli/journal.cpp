#include "cli/journal.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

namespace reclaim::cli {
namespace {

constexpr std::size_t kEntriesMax = 20'000;

}  // namespace

std::string journal_id(WallMs since) {
  return fmt::format("{}-0", since.ms);
}

Result<JournalPage> journal_behind(Session& session, const std::string& host,
                                   const std::string& after) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  JournalPage all{{}, after};
  while (all.entries.size() < kEntriesMax) {
    auto page = session.wait<JournalPage>([&](auto done) {
      (*store)->read_journal(host, all.last_id, kJournalEntriesAtOnce, std::move(done));
    });
    if (!page) return std::move(page).error();
    const bool last = page->entries.size() < kJournalEntriesAtOnce;
    std::move(page->entries.begin(), page->entries.end(), std::back_inserter(all.entries));
    all.last_id = page->last_id;
    if (last) break;
  }
  return all;
}

}  // namespace reclaim::cli
