// Reserved and unallocated: by an operator's hand, or by a tenancy that nobody saw (design "held")?
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "handlers/survey/survey.h"
#include "state/device/arq.h"
#include "state/device/record.h"
#include "state/ledger/ledger.h"

namespace reclaim {

enum class Hold : std::uint8_t { held, dirty, unknown };

// Burned and unallocated with a certificate behind it: a tenancy we missed, or an operator's hand
// (design "held")? The ledger knows tenancies that a record lost from Redis does not; the drive's
// own counters tell of the others. Once a hold was recognised, reads alone do not end it: the
// kernel looks for partitions whenever it binds its driver, and nobody's data comes by reading.
[[nodiscard]] Hold operator_hold(const Record& record, const LedgerEntry* ledger,
                                 const Sighting& sighting);

// A tenancy that the book of ARQs knows and that no release came after.
[[nodiscard]] bool missed_tenancy(const Record& record, const Sighting& sighting);

// True if more than a notification tells of the ARQ: its allocation in Placement, or Cyborg's own
// list. An ARQ that is only heard of may keep a drive from being touched, but undoes nobody's hold.
[[nodiscard]] bool is_proven(const Arq& arq);

// Tells a hold from a tenancy for Cyborg's devices, which are burned by a recorded tenancy only
// (design "held"): whoever reserves one of those, by hand or by Cyborg's own switch, means it,
// unless the drive or the ledger tells of a tenant. Once a hold was recognised, no word of an ARQ
// ends it.
[[nodiscard]] Hold cyborg_hold(const Record& record, const LedgerEntry* ledger,
                               const Sighting& sighting);

// Nova may write once more what it had read of a device before its release, within minutes, and
// reserves it so: by one write, as an operator does. A reservation that is recognised as a hold so
// soon after a release stays one of which nobody knows whose it is: `waiting_for` begins with this.
inline constexpr std::string_view kReservedLate =
    "reserved minutes after its release, and Nova may have written what it had read before that";

// The reason why a device that is reserved and unallocated, and taken for held, is not known to be;
// empty: nothing speaks against it.
[[nodiscard]] std::string doubt_of_hold(const Record& record, const LedgerEntry* ledger,
                                        const Sighting& sighting, WallMs now);

}  // namespace reclaim
