#include "handlers/conductor/own_reservation.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim {

OwnReservation::Mark OwnReservation::mark_of(const PciAddress& address) const {
  const LedgerEntry* line = context_.on_ledger(address);
  return line == nullptr ? Mark{} : Mark{line->*reason_.mark, line->asked};
}

bool OwnReservation::is_marked(const PciAddress& address) const {
  return mark_of(address).is_ours;
}

bool OwnReservation::is_under_way(const PciAddress& address) const {
  const auto settled = settled_.find(address);
  return under_way_.contains(address) ||
         (settled != settled_.end() && context_.survey.began < settled->second);
}

bool OwnReservation::is_asked(const PciAddress& address) const {
  return static_cast<bool>(mark_of(address).asked);
}

ReservedBy OwnReservation::reserved_by(const PciAddress& address,
                                       const placement::ProviderView& view) const {
  const Mark mark = mark_of(address);
  return reclaim::reserved_by(mark.is_ours, mark.asked, view);
}

void OwnReservation::reserve(const PciAddress& address, const placement::ProviderView& view) {
  write(address, view, true);
}

void OwnReservation::unreserve(const PciAddress& address, const placement::ProviderView& view) {
  write(address, view, false);
}

void OwnReservation::forget(const PciAddress& address) {
  under_way_.insert(address);
  note(address, {}, [this, address](const Status& /*kept*/) { under_way_.erase(address); });
}

// Keeps the mark in the ledger. If it cannot be kept, the ledger goes on to show what its file
// says.
void OwnReservation::note(const PciAddress& address, const Mark& mark,
                          std::function<void(Status)> done) {
  const auto show = [this, address](const Mark& shown, std::function<void(Status)> then) {
    const LedgerEntry* known = context_.on_ledger(address);
    LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
    entry.*reason_.mark = shown.is_ours;
    entry.asked = shown.asked;
    ledger_.put(address, entry, std::move(then));
  };
  const auto answered = [this, address, show, before = mark_of(address),
                         done = std::move(done)](const Status& kept) {
    if (!kept) {
      show(before, [](const Status& /*kept*/) {});
      context_.ports.log.error(
          log_name::kConductor,
          fmt::format("{}: the ledger cannot be written, its reservation stays as it is",
                      to_string(address)),
          {{"why", kept.error().what}});
    }
    done(kept);
  };
  show(mark, context_.stopping.unless_begun(answered));
}

void OwnReservation::write(const PciAddress& address, const placement::ProviderView& view,
                           bool reserved) {
  const Mark before = mark_of(address);
  under_way_.insert(address);
  note(address, {true, {view.uuid, view.generation, reserved}},
       [this, address, view, reserved, before](const Status& kept) {
         if (!kept) return void(under_way_.erase(address));
         // It was ordered meanwhile, and nothing is on its way yet.
         if (!reserved && context_.on_ledger(address)->maintenance) {
           return note(address, before,
                       [this, address](const Status& /*kept*/) { under_way_.erase(address); });
         }
         fence_.put(
             address, view, reserved ? view.inventories.front().total : 0,
             [this, address, before, reserved](const Result<placement::ProviderView>& after) {
               answered(address, before, reserved, after);
             });
       });
}

void OwnReservation::answered(const PciAddress& address, const Mark& before, bool reserved,
                              const Result<placement::ProviderView>& after) {
  const std::string_view why = reserved ? reason_.begins : reason_.is_over;
  const std::string_view what = reserved ? "reserved" : "un-reserved";
  const auto settled = [this, address](const Status& /*kept*/) {
    under_way_.erase(address);
    settled_[address] = context_.ports.clock.now().mono;
    context_.want_survey(0);
  };
  if (after) {
    context_.ports.log.info(log_name::kConductor,
                            fmt::format("{} {}: {}", to_string(address), why, what));
    return note(address, {reserved, {}}, settled);
  }
  context_.ports.log.warning(log_name::kConductor,
                             fmt::format("{} {}, and cannot be {}; the next survey tries again",
                                         to_string(address), why, what),
                             {{"why", after.error().what}});
  if (outcome_of(after) != WriteOutcome::unmade) return settled(Ok{});
  note(address, before, [this, address](const Status& /*kept*/) { under_way_.erase(address); });
}

}  // namespace reclaim
