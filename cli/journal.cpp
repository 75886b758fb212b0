#include "cli/journal.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

namespace reclaim::cli {
namespace {

constexpr std::size_t kEntriesAtOnce = 500;
constexpr std::size_t kEntriesMax = 20'000;

}  // namespace

Result<std::vector<JournalEntry>> journal_since(Session& session, const std::string& host,
                                                WallMs since) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  std::vector<JournalEntry> entries;
  std::string after = fmt::format("{}-0", since.ms);
  while (entries.size() < kEntriesMax) {
    auto page = session.wait<JournalPage>(
        [&](auto done) { (*store)->read_journal(host, after, kEntriesAtOnce, std::move(done)); });
    if (!page) return std::move(page).error();
    const bool last = page->entries.size() < kEntriesAtOnce;
    std::move(page->entries.begin(), page->entries.end(), std::back_inserter(entries));
    after = page->last_id;
    if (last) break;
  }
  return entries;
}

}  // namespace reclaim::cli
