#include "handlers/conductor/own_reservation.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim {

namespace {

// Whether the write was certainly not made, as set_reserved() tells. A conflict without Placement's
// status was found by the read after the write, and an answer that makes no sense tells nothing.
bool was_not_written(const Error& error) {
  constexpr int kHttpConflict = 409;
  return error.code == Errc::unavailable || error.code == Errc::refused ||
         error.code == Errc::limit || (error.code == Errc::conflict && error.raw == kHttpConflict);
}

}  // namespace

bool OwnReservation::is_by_us(const PciAddress& address) const {
  const LedgerEntry* line = context_.on_ledger(address);
  return line != nullptr && line->*reason_.mark;
}

void OwnReservation::reserve(const PciAddress& address, const placement::ProviderView& view) {
  const std::int64_t total = view.inventories.front().total;
  if (reason_.noted_first) {
    return note(address, true, [this, address, view, total] {
      put(address, view, total, [](const Status& /*put*/) {});
    });
  }
  put(address, view, total, [this, address](const Status& put) {
    if (!put) return;
    // The survey after it shows the device as reserved.
    note(address, true, [this] { context_.want_survey(0); });
  });
}

void OwnReservation::unreserve(const PciAddress& address, const placement::ProviderView& view,
                               const std::function<void(const Status&)>& answered) {
  if (reason_.noted_first) {
    return put(address, view, 0, [this, address, answered](const Status& put) {
      if (answered) answered(put);
      if (put) forget(address);
    });
  }
  // Forgotten first: a hand that comes right after is not taken for ours, whatever is lost between.
  note(address, false, [this, address, view, answered] {
    put(address, view, 0, [this, address, answered](const Status& put) {
      if (answered) answered(put);
      if (!put && was_not_written(put.error())) note(address, true, nullptr);
    });
  });
}

LedgerEntry OwnReservation::marked(const PciAddress& address, bool by_us) const {
  const LedgerEntry* known = context_.on_ledger(address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  entry.*reason_.mark = by_us;
  return entry;
}

void OwnReservation::note(const PciAddress& address, bool by_us, std::function<void()> done) {
  under_way_.insert(address);
  ledger_.put(address, marked(address, by_us),
              context_.stopping.unless_begun([this, address, by_us, done](const Status& kept) {
                under_way_.erase(address);
                if (kept && done) return done();
                if (kept) return;
                // It is still ours, as the file says.
                if (!by_us) ledger_.put(address, marked(address, true), [](const Status&) {});
                context_.ports.log.error(log_name::kConductor,
                                         fmt::format("{}: the ledger cannot be written, its "
                                                     "reservation stays as it is",
                                                     to_string(address)),
                                         {{"why", kept.error().what}});
              }));
}

void OwnReservation::put(const PciAddress& address, const placement::ProviderView& view,
                         std::int64_t reserved, std::function<void(const Status&)> done) {
  under_way_.insert(address);
  context_.ports.providers.set_reserved(
      view, reserved,
      context_.stopping.unless_begun([this, address, reserved, done = std::move(done)](
                                         const Result<placement::ProviderView>& after) {
        under_way_.erase(address);
        if (after) {
          context_.ports.log.info(log_name::kConductor,
                                  fmt::format("{} {}: {}", to_string(address),
                                              reserved > 0 ? reason_.begins : reason_.is_over,
                                              reserved > 0 ? "reserved" : "un-reserved"));
          return done(Ok{});
        }
        context_.ports.log.warning(
            log_name::kConductor,
            fmt::format("{} {}, and cannot be {}; the next survey tries again", to_string(address),
                        reserved > 0 ? reason_.begins : reason_.is_over,
                        reserved > 0 ? "reserved" : "un-reserved"),
            {{"why", after.error().what}});
        done(after.error());
      }));
}

}  // namespace reclaim
