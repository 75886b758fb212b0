// [cyborg] reserve_all_types: a device of one of Cyborg's other drivers, which is neither a drive
// nor cleaned by steps, is reserved while it is bound, and un-reserved without a cleaning when it
// is not any more (the specification, "Device Bind": "apply to all device types, not only NVMe").
// Only what this worker reserved itself is un-reserved: the ledger knows of it first.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"

namespace reclaim {

// Thread: the loop's.
class BindReservation final {
 public:
  BindReservation(const ConductorContext& context, LedgerGate& ledger)
      : context_(context), ledger_(ledger) {}

  // What a survey saw of a device on record. What is not done now is done after a later survey.
  void see(const Sighting& sighting, const Record& record);

 private:
  void reserve(const Sighting& sighting);
  void unreserve(const Sighting& sighting);
  void forget(const PciAddress& address);
  // In the ledger, that this worker reserved it.
  void note(const PciAddress& address, bool reserved, std::function<void(Status)> done);
  void put(const PciAddress& address, const placement::ProviderView& view, std::int64_t reserved,
           std::function<void()> done);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  std::set<PciAddress> under_way_;
};

}  // namespace reclaim
