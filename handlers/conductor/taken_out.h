// Takes a free device out of the pool for a while: it is reserved while an operator has it in
// maintenance, or while it is in question whether somebody had it (handlers/survey/unseen.h). It is
// given back without a cleaning when that ends, if the certificate of its last erasure still stands
// (Assessment::give_back). Where it does not, it is cleaned.
#pragma once

#include "handlers/conductor/own_reservation.h"
#include "handlers/survey/admission.h"

namespace reclaim {

// Thread: the loop's.
class TakenOut final {
 public:
  TakenOut(const ConductorContext& context, LedgerGate& ledger, WriteFence& fence)
      : context_(context),
        reservation_(context, ledger, fence,
                     {&LedgerEntry::taken_out, "is taken out of the pool",
                      "goes back into the pool, and its certificate stands"}) {}

  // Judges what a survey saw of a device on record, and made of it. What is not done now is done
  // after a later survey.
  void see(const Sighting& sighting, const Record& record, const Assessment& assessment);

 private:
  void see_marked(const PciAddress& address, const placement::ProviderView& view,
                  const Assessment& assessment);
  [[nodiscard]] bool is_in_maintenance(const PciAddress& address) const;

  const ConductorContext& context_;
  OwnReservation reservation_;
};

}  // namespace reclaim
