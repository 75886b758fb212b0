#include "handlers/conductor/bind_reservation.h"

#include "handlers/survey/admission.h"

namespace reclaim {
namespace {

// True if the device is bound. An ARQ that is only heard of reserves nothing.
bool is_bound(const Sighting& sighting) {
  return !sighting.view->free() ||
         (sighting.holder && (sighting.holder->allocation_seen || sighting.holder->listed));
}

// Whoever else wants it out of the pool.
bool is_kept_out(const Sighting& sighting, const Record& record) {
  return record.maintenance || sighting.cyborg_silent ||
         sighting.cyborg_status.value_or(record.cyborg_status) == kMaintaining;
}

}  // namespace

void BindReservation::see(const Sighting& sighting, const Record& record) {
  const PciAddress& address = sighting.address;
  if (reservation_.is_under_way(address)) return;
  // It is cleaned from now on: its reservation ends with that.
  if (record.cleanable()) {
    return reservation_.is_marked(address) ? reservation_.forget(address) : void();
  }
  if (record.flow != Flow::cyborg || !sighting.ours.value_or(false)) return;
  if (sighting.rows.size() != 1 || !sighting.view || !sighting.view->is_device()) return;
  if (is_bound(sighting)) {
    see_bound(address, *sighting.view);
  } else if (!sighting.holder && !is_kept_out(sighting, record)) {
    see_free(address, *sighting.view);
  }
}

void BindReservation::see_bound(const PciAddress& address, const placement::ProviderView& view) {
  const bool by_us = reservation_.reserved_by(address, view) == ReservedBy::us;
  const bool is_wanted = context_.options.reserve_all_types && !view.burned();
  if (is_wanted || (by_us && reservation_.is_asked(address))) reservation_.reserve(address, view);
}

void BindReservation::see_free(const PciAddress& address, const placement::ProviderView& view) {
  switch (reservation_.reserved_by(address, view)) {
    case ReservedBy::us:
      return reservation_.unreserve(address, view);
    case ReservedBy::us_late:
      return reservation_.reserve(address, view);  // made for certain, it is ended as any other
    case ReservedBy::others:
      return reservation_.is_marked(address) ? reservation_.forget(address) : void();
    case ReservedBy::unknown:
      return;
  }
}

}  // namespace reclaim
