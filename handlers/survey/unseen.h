// Judges whether anybody had the device while nobody looked. Placement moves a provider's
// generation with every allocation that is made or replaced, and with every write of its inventory
// or traits; deletions move none (objects/resource_provider.py, allocation.py). So a generation
// shows that nobody can have had the device, and otherwise asks a question, which the drive's
// counters answer. Pure.
//
// A provider of Cyborg's that is deleted and made again keeps its UUID and counts from the start:
// one that has come back to where it was by then asks nothing.
#pragma once

#include "handlers/survey/admission.h"
#include "handlers/survey/survey.h"
#include "placement/providers.h"
#include "state/device/record.h"

namespace reclaim {

// `sighting` has the view of a provider that nobody has an allocation of.
[[nodiscard]] Rest rest_of(const Sighting& sighting);

// The device as it was last seen at rest: as its record says, or else the ledger, which knows of
// its release.
[[nodiscard]] Rest last_rest(const Record& record, const LedgerEntry* ledger);

// True if the provider was written to so often since `rest` that a tenancy may have begun and
// ended: one write allocates the device, and one each is the least that brings `reserved` from what
// it was then, over what its owner makes of it for a tenant, to what it is now. So the one write of
// a hand that reserves it, or un-reserves it, asks nothing. A burn is counted only where Nova
// burned what it gave away of it then and does so now: it may have been off in between. Another
// provider may have had anybody. `sighting` has a view.
[[nodiscard]] bool may_have_had_a_tenant(const Rest& rest, const Sighting& sighting);

// Left reserved for Cyborg's agent, and reserved still, or again: it takes one write to un-reserve
// it and one to reserve it, and there were as many.
[[nodiscard]] bool may_be_reserved_again(const Record& record, const placement::ProviderView& view);

// True if the question is open: the drive does not show that nobody had it. `sighting` has a view.
[[nodiscard]] bool is_in_question(const Record& record, const LedgerEntry* ledger,
                                  const Sighting& sighting);

// Judges a device that is on offer and in question: it is taken out of the pool until a claim has
// read what it counted; where none can, or its provider was made anew, it is cleaned.
void assess_in_question(Assessment& out, const Record& record, const LedgerEntry* ledger,
                        const Sighting& sighting);

// Nova's, burned and free, and nobody wrote to it: an operator's hand is one write, and these are
// more. Nova burns a device before it builds the guest, and leaves it burned where that fails.
void assess_failed_build(Assessment& out, const Record& record, const HostView& host);

// True if nothing but a claim shows what the drive counted: it stands unmanaged, and what it is
// compared with is known.
[[nodiscard]] bool is_told_by_a_claim(const Record& record, const Sighting& sighting);

}  // namespace reclaim
