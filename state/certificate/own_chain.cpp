#include "state/certificate/own_chain.h"

#include <algorithm>
#include <set>
#include <vector>

#include "state/certificate/succession.h"

namespace reclaim {
namespace {

struct FormerKeys {
  std::set<std::string> vouched;  // for the next
  std::optional<std::string> silent;
};

// Back from the newest entry, each key by the last that it sealed: an endorsement is made while no
// worker runs.
Result<FormerKeys> former_keys(const std::string& folder, const PublicKey& key,
                               std::size_t newest_max) {
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  const std::vector<ChainFile>& files = listing->files;
  const std::size_t looked_at = std::min(files.size(), newest_max);
  FormerKeys former;
  std::string next = key.id();
  for (auto file = files.rbegin(); file != files.rbegin() + static_cast<std::ptrdiff_t>(looked_at);
       ++file) {
    const auto sealed = open_entry(folder, file->name);
    if (!sealed.ok() || sealed->key_id == next) continue;
    Succession last({});
    const bool vouches =
        last.take(*sealed).ok() && !last.keys().empty() && last.keys().front().id() == next;
    if (!vouches) {
      former.silent = sealed->key_id;
      break;
    }
    former.vouched.insert(sealed->key_id);
    next = sealed->key_id;
  }
  return former;
}

}  // namespace

Result<OwnChain> check_own_chain(const std::string& folder, const PublicKey& key,
                                 std::size_t newest_max) {
  auto report = check_chain(folder, {key}, newest_max);
  if (!report.ok()) return std::move(report).error();
  auto former = former_keys(folder, key, newest_max);
  if (!former.ok()) return std::move(former).error();
  std::erase_if(report->problems, [&](const ChainProblem& problem) {
    return former->vouched.contains(problem.unknown_key) &&
           !report->revoked.contains(problem.unknown_key);
  });
  return OwnChain{*std::move(report), std::move(former->silent)};
}

}  // namespace reclaim
