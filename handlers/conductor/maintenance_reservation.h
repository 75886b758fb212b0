// Maintenance takes a free device out of the pool: it is reserved while an operator has it in
// maintenance, and given back without a cleaning when that ends, if the certificate of its last
// erasure still stands (Assessment::give_back). Where it does not, it is cleaned.
#pragma once

#include "handlers/conductor/own_reservation.h"
#include "handlers/conductor/release_fence.h"
#include "handlers/survey/admission.h"

namespace reclaim {

// Thread: the loop's.
class MaintenanceReservation final {
 public:
  MaintenanceReservation(const ConductorContext& context, LedgerGate& ledger, ReleaseFence& fence)
      : context_(context),
        fence_(fence),
        reservation_(context, ledger,
                     {&LedgerEntry::reserved_for_maintenance, false, "is in maintenance",
                      "is in maintenance no more, and its certificate stands"}) {}

  // What a survey saw of a device on record, and made of it. What is not done now is done after a
  // later survey.
  void see(const Sighting& sighting, const Record& record, const Assessment& assessment);

 private:
  void give_back(const PciAddress& address, const placement::ProviderView& view);

  const ConductorContext& context_;
  ReleaseFence& fence_;
  OwnReservation reservation_;
};

}  // namespace reclaim
