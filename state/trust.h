// What a record found at the start is good for. Redis may show an earlier record of ours, or one of
// an older version that authenticated nothing; the ledger, a file of this host, knows better. Pure.
#pragma once

#include "state/ledger.h"
#include "state/record.h"

namespace reclaim {

// A record that nothing authenticates, cut down to what it shows: no erase that was begun, nothing
// that a release or a certificate could rest on, no operator's acceptance, and no certificate that
// would outlive what `known` (may be null) remembers as dirty.
[[nodiscard]] Record shown_only(Record record, const LedgerEntry* known);

// Whether what stands in Redis was written by this host's workers, as the late write of one that
// died, and leaves room for a later epoch: then it can be written over in one step.
[[nodiscard]] bool is_of_this_host(const Record& stored);

}  // namespace reclaim
