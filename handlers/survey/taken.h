// Judges who has a device, as Placement says: an instance by its one provider, or by one of
// several; and the alarm where that device was known to be dirty. Pure.
#pragma once

#include <string>

#include "handlers/survey/admission.h"
#include "handlers/survey/survey.h"
#include "state/device/record.h"
#include "state/ledger/ledger.h"

namespace reclaim {

// The certificate was written after the ledger's line: the line only waits to be struck.
[[nodiscard]] bool outlives(const Record& record, const LedgerEntry& ledger);

// True if the device is not clean, as is recorded or remembered, and no tenant's as far as is
// known.
[[nodiscard]] bool is_known_dirty(const Record& record, const LedgerEntry* ledger);

// A tenant has got what is not known to be clean: said in journal, last_error and log. `who` holds
// it; `reserved`: nobody else can get it meanwhile.
void raise_alarm(Assessment& out, const Record& record, const std::string& who, bool reserved);
// That alarm of a device in its cleaning, as its provider shows it now.
[[nodiscard]] Assessment given_in_cleaning(const Record& record,
                                           const placement::ProviderView& view);
// True if the tenant of that alarm has the device still.
[[nodiscard]] bool has_anothers_dirt(const Record& record);

// The note of a device that somebody has although it is in error.
[[nodiscard]] std::string note_of_taken(const std::string& who);
// True if somebody has it, as the last survey saw it or an event since.
[[nodiscard]] bool is_taken_in_error(const Record& record);

// Nova's, with an allocation on its one provider.
void assess_allocated(Assessment& out, const Record& record, const LedgerEntry* ledger,
                      const Sighting& sighting);

// Allocated on record, and in Placement still: by the same tenant, or by another (tenant.h).
void assess_tenant(Assessment& out, const Record& record, const Sighting& sighting);

// Its consumer, with project and user as far as they are told.
void name_tenant(Facts& facts, const Sighting& sighting);

// More than one provider stands for the address.
void assess_several(Assessment& out, const Record& base, const LedgerEntry* ledger,
                    const Sighting& sighting);

// Tells how the device's state and its reservation contradict each other; empty: they do not. The
// invariant of the specification: reserved = total, and only then, where the device is not
// available.
[[nodiscard]] std::string mismatch_of(const Record& record, const Assessment& assessment,
                                      const placement::ProviderView& view);

}  // namespace reclaim
