#include "handlers/conductor/taken_out.h"

namespace reclaim {

void TakenOut::see(const Sighting& sighting, const Record& record, const Assessment& assessment) {
  const PciAddress& address = sighting.address;
  if (reservation_.is_under_way(address)) return;
  const LedgerEntry* line = context_.on_ledger(address);
  const bool maintenance = record.maintenance || (line != nullptr && line->maintenance);
  if (!reservation_.is_by_us(address)) {
    if (assessment.take_out) reservation_.reserve(address, *sighting.view);
    return;
  }
  // A tenancy, or a cleaning, has its own reservation, which ends with a release.
  if (record.stage != Stage::available) return reservation_.forget(address);
  if (sighting.rows.size() != 1 || !sighting.view || !sighting.view->is_device()) return;
  const placement::ProviderView& view = *sighting.view;
  if (!view.burned()) {
    if (assessment.take_out) return reservation_.reserve(address, view);
    return maintenance ? void() : reservation_.forget(address);
  }
  if (maintenance) {
    // It may have begun again while the device was being given back, by this worker or by the one
    // before.
    if (view.free() && fence_.is_needed(address)) {
      fence_.raise(address, view, [](const Result<placement::ProviderView>& /*after*/) {});
    }
    return;
  }
  if (assessment.give_back) give_back(address, view);
}

void TakenOut::give_back(const PciAddress& address, const placement::ProviderView& view) {
  fence_.need(address, true);  // until its outcome is known
  reservation_.unreserve(address, view, [this, address](const Status& put) {
    if (put || put.error().code == Errc::conflict || put.error().code == Errc::refused) {
      fence_.need(address, false);
    }
    if (put) context_.want_survey(0);
  });
}

}  // namespace reclaim
