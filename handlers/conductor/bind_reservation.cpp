#include "handlers/conductor/bind_reservation.h"

#include <fmt/core.h>

#include <utility>

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
  if (under_way_.contains(sighting.address)) return;
  const LedgerEntry* line = context_.on_ledger(sighting.address);
  const bool by_us = line != nullptr && line->reserved_at_bind;
  // It is cleaned from now on: its reservation ends with that.
  if (record.cleanable()) return by_us ? forget(sighting.address) : void();
  if (record.flow != Flow::cyborg || !sighting.ours.value_or(false)) return;
  if (sighting.rows.size() != 1 || !sighting.view || !sighting.view->is_device()) return;
  const bool burned = sighting.view->burned();
  if (is_bound(sighting)) {
    if (context_.options.reserve_all_types && !burned) reserve(sighting);
  } else if (by_us && !sighting.holder && !is_kept_out(sighting, record)) {
    unreserve(sighting);
  }
}

void BindReservation::reserve(const Sighting& sighting) {
  const PciAddress address = sighting.address;
  under_way_.insert(address);
  note(address, true, [this, address, view = *sighting.view](const Status& kept) {
    if (!kept) return (void)under_way_.erase(address);
    put(address, view, view.inventories.front().total, [] {});
  });
}

// The provider's generation tells whether somebody got it since the survey read it.
void BindReservation::unreserve(const Sighting& sighting) {
  const PciAddress address = sighting.address;
  if (!sighting.view->burned()) return forget(address);
  under_way_.insert(address);
  put(address, *sighting.view, 0, [this, address] { forget(address); });
}

void BindReservation::forget(const PciAddress& address) {
  under_way_.insert(address);
  note(address, false, [this, address](const Status& /*kept*/) { under_way_.erase(address); });
}

void BindReservation::note(const PciAddress& address, bool reserved,
                           std::function<void(Status)> done) {
  const LedgerEntry* known = context_.on_ledger(address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  entry.reserved_at_bind = reserved;
  ledger_.put(address, entry,
              context_.stopping.unless_begun([this, address, done](const Status& kept) {
                if (!kept) {
                  context_.ports.log.error(log_name::kConductor,
                                           fmt::format("{}: the ledger cannot be written, its "
                                                       "reservation stays as it is",
                                                       to_string(address)),
                                           {{"why", kept.error().what}});
                }
                done(kept);
              }));
}

void BindReservation::put(const PciAddress& address, const placement::ProviderView& view,
                          std::int64_t reserved, std::function<void()> done) {
  context_.ports.providers.set_reserved(
      view, reserved,
      context_.stopping.unless_begun([this, address, reserved, done = std::move(done)](
                                         const Result<placement::ProviderView>& after) {
        under_way_.erase(address);
        if (after) {
          context_.ports.log.info(
              log_name::kConductor,
              fmt::format("{} is no drive and is {}: {} ([cyborg] reserve_all_types)",
                          to_string(address), reserved > 0 ? "bound" : "bound no more",
                          reserved > 0 ? "reserved" : "un-reserved"));
          return done();
        }
        context_.ports.log.warning(
            log_name::kConductor,
            fmt::format("{} cannot be {} ([cyborg] reserve_all_types); the next survey tries "
                        "again",
                        to_string(address), reserved > 0 ? "reserved" : "un-reserved"),
            {{"why", after.error().what}});
      }));
}

}  // namespace reclaim
