// [cyborg] reserve_all_types: a device of one of Cyborg's other drivers, which is neither a drive
// nor cleaned by steps, is reserved while it is bound, and un-reserved without a cleaning when it
// is not any more (the specification, "Device Bind": "apply to all device types, not only NVMe").
#pragma once

#include "handlers/conductor/own_reservation.h"

namespace reclaim {

// Thread: the loop's.
class BindReservation final {
 public:
  BindReservation(const ConductorContext& context, LedgerGate& ledger, WriteFence& fence)
      : context_(context),
        reservation_(context, ledger, fence,
                     {&LedgerEntry::reserved_at_bind,
                      "is no drive and is bound ([cyborg] reserve_all_types)",
                      "is no drive and is bound no more ([cyborg] reserve_all_types)"}) {}

  // Judges what a survey saw of a device on record. What is not done now is done after a later
  // survey.
  void see(const Sighting& sighting, const Record& record);

 private:
  void see_bound(const PciAddress& address, const placement::ProviderView& view);
  void see_free(const PciAddress& address, const placement::ProviderView& view);

  const ConductorContext& context_;
  OwnReservation reservation_;
};

}  // namespace reclaim
