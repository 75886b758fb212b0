// Tells the kind of a device: a drive that an [nvme] device_spec entry matches, which is erased,
// another PCI function that a [devices] device_spec entry matches, which is cleaned by its steps,
// or something else, which is shown by its PCI class and never written: no ledger line, no PUT.
// Pure.
#pragma once

#include <string>

#include "handlers/survey/admission.h"
#include "handlers/survey/survey.h"
#include "state/device/record.h"
#include "state/ledger/ledger.h"

namespace reclaim {

inline constexpr std::string_view kNotListed =
    "no device_spec entry matches it: shown, and never reserved, cleaned or given back";

// The host shows a device there that a device_spec entry matches.
[[nodiscard]] bool is_listed(const Sighting& sighting);

// The ledger remembers more of the device than its last certificate.
[[nodiscard]] bool remembers(const LedgerEntry* ledger);

// Nobody can tell what stands at this address, and nothing was known of it before: it is looked at
// when the host shows it.
[[nodiscard]] bool is_unknown(const Sighting& sighting, const Record* record,
                              const LedgerEntry* ledger);

// Was it ours, so that what is recorded of it still counts, though no entry matches it any more?
[[nodiscard]] bool was_ours(const Sighting& sighting, const Record& base);

// The record of one that an operator lets go: what was found there in this boot, where it stands in
// Placement, and nothing of what was known of it. Shown only, as what no entry ever matched; the
// next survey tells its type.
[[nodiscard]] Record let_go(const Record& record, const FoundDrive& found,
                            const std::string& boot_id, WallMs now);

// Tells by what the host shows whether `base` is a device of ours. Where the host shows no such
// function, it stays what it was; so does a device of ours that is not known to be clean, unless
// nothing but its dirt is known. `record`
// is null for a device never seen before.
void settle_kind(Assessment& out, Record& base, const Record* record, const Sighting& sighting,
                 const LedgerEntry* ledger);

}  // namespace reclaim
