// A chain as its host sees it, which has the public half of its present key alone.
//
// What former keys signed it cannot verify. But each entry has the SHA-256 of the one before, and
// the newest are signed with the present key: what a former key signed is as whole as they are, if
// it vouched for the next key. Blocks: for the start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "state/certificate/chain.h"

namespace reclaim {

struct OwnChain {
  // The report, without a word of entries by former keys that vouched for the next and are not
  // revoked.
  ChainReport report;
  // The id of the last key that sealed before and did not vouch for the next: who holds its public
  // key alone cannot follow the chain any more.
  std::optional<std::string> unendorsed;
};
// Looks at the `newest_max` newest only. Errors: as check_chain().
[[nodiscard]] Result<OwnChain> check_own_chain(const std::string& folder, const PublicKey& key,
                                               std::size_t newest_max);

}  // namespace reclaim
