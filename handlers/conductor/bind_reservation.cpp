#include "handlers/conductor/bind_reservation.h"

#include "handlers/survey/admission.h"

namespace reclaim {
namespace {

// What is only heard of an ARQ reserves nothing.
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
  const bool by_us = reservation_.is_by_us(address);
  // It is cleaned from now on: its reservation ends with that.
  if (record.cleanable()) return by_us ? reservation_.forget(address) : void();
  if (record.flow != Flow::cyborg || !sighting.ours.value_or(false)) return;
  if (sighting.rows.size() != 1 || !sighting.view || !sighting.view->is_device()) return;
  const bool burned = sighting.view->burned();
  if (is_bound(sighting)) {
    if (context_.options.reserve_all_types && !burned) {
      reservation_.reserve(address, *sighting.view);
    }
  } else if (by_us && !sighting.holder && !is_kept_out(sighting, record)) {
    if (!burned) return reservation_.forget(address);
    reservation_.unreserve(address, *sighting.view);
  }
}

}  // namespace reclaim
