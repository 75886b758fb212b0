#include "handlers/conductor/taken_out.h"

namespace reclaim {

void TakenOut::see(const Sighting& sighting, const Record& record, const Assessment& assessment) {
  const PciAddress& address = sighting.address;
  if (reservation_.is_under_way(address)) return;
  if (!reservation_.is_marked(address)) {
    if (assessment.take_out) reservation_.reserve(address, *sighting.view);
    return;
  }
  // A tenancy, or a cleaning, has its own reservation, which ends with a release.
  if (record.stage != Stage::available) return reservation_.forget(address);
  if (sighting.rows.size() != 1 || !sighting.view || !sighting.view->is_device()) return;
  see_marked(address, *sighting.view, assessment);
}

// True if it is in maintenance, by the ledger too: the record may have been read before the order
// was.
bool TakenOut::is_in_maintenance(const PciAddress& address) const {
  const LedgerEntry* line = context_.on_ledger(address);
  return context_.record_of(address).maintenance || (line != nullptr && line->maintenance);
}

void TakenOut::see_marked(const PciAddress& address, const placement::ProviderView& view,
                          const Assessment& assessment) {
  const bool maintenance = is_in_maintenance(address);
  switch (reservation_.reserved_by(address, view)) {
    case ReservedBy::us:
      if (assessment.give_back && !maintenance) return reservation_.unreserve(address, view);
      // It may have begun again while the device was being given back, by this worker or by the one
      // before.
      return reservation_.is_asked(address) ? reservation_.reserve(address, view) : void();
    case ReservedBy::us_late:
      return reservation_.reserve(address, view);  // made for certain, it is ended as any other
    case ReservedBy::others:
      if (assessment.take_out) return reservation_.reserve(address, view);
      return maintenance ? void() : reservation_.forget(address);
    case ReservedBy::unknown:
      return;
  }
}

}  // namespace reclaim
