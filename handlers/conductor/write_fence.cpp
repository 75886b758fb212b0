#include "handlers/conductor/write_fence.h"

#include "state/ledger/trust.h"

namespace reclaim {

// The outcome as Providers::set_reserved() tells it. A conflict without Placement's status was
// found by the read after the write.
WriteOutcome outcome_of(const Result<placement::ProviderView>& answer) {
  constexpr int kHttpConflict = 409;
  if (answer) return WriteOutcome::made;
  switch (answer.error().code) {
    case Errc::conflict:
      return answer.error().raw == kHttpConflict ? WriteOutcome::unmade : WriteOutcome::overtaken;
    case Errc::unavailable:
    case Errc::refused:
    case Errc::limit:
    case Errc::not_found:
      return WriteOutcome::unmade;
    default:
      return WriteOutcome::unknown;
  }
}

void WriteFence::put(const PciAddress& address, const placement::ProviderView& view,
                     std::int64_t reserved, Done done) {
  Fence& fence = devices_[address];
  const bool needed_before = fence.needed;
  if (reserved == 0) {
    fence.needed = true;
  } else {
    Reservations& sent = fence.reservations[view.uuid];
    if (sent.generation != view.generation) sent = {view.generation, 0};
    sent.open += 1;
  }
  const auto answered = [this, address, view, reserved, needed_before,
                         done = std::move(done)](Result<placement::ProviderView> after) {
    const WriteOutcome outcome = outcome_of(after);
    Fence& fence_now = devices_[address];
    if (outcome != WriteOutcome::unknown && reserved == 0) {
      fence_now.needed = needed_before && outcome == WriteOutcome::unmade;
    } else if (outcome != WriteOutcome::unknown) {
      Reservations& sent = fence_now.reservations[view.uuid];
      if (sent.generation == view.generation && sent.open > 0) sent.open -= 1;
    }
    done(std::move(after));
  };
  context_.ports.providers.set_reserved(view, reserved, context_.stopping.unless_begun(answered));
}

bool WriteFence::may_be_reserved(const PciAddress& address,
                                 const placement::ProviderView& view) const {
  const auto fence = devices_.find(address);
  if (fence == devices_.end()) return false;
  const auto sent = fence->second.reservations.find(view.uuid);
  return sent != fence->second.reservations.end() && sent->second.open > 0 &&
         sent->second.generation == view.generation;
}

void WriteFence::raise(const PciAddress& address, const placement::ProviderView& view, Done done) {
  CHECK(view.burned());
  const auto write = [this, address, view, done] {
    put(address, view, view.inventories.front().total,
        [this, address, done](Result<placement::ProviderView> after) {
          if (after) devices_[address].needed = devices_[address].first = false;
          done(std::move(after));
        });
  };
  const LedgerEntry* known = context_.on_ledger(address);
  const bool moves_trace = known != nullptr && !known->certificate_pending.empty() &&
                           known->provider == view.uuid &&
                           shows_no_release(known, context_.record_of(address), view.generation);
  if (!moves_trace) return write();
  LedgerEntry entry = *known;
  entry.fence_generation = view.generation;
  context_.ports.ledger.put(address, entry,
                            context_.stopping.unless_begun([write, done](Status kept) {
                              if (kept) return write();
                              done(std::move(kept).error().wrap("the ledger cannot be written"));
                            }));
}

void WriteFence::raise_first(const PciAddress& address, const placement::ProviderView& view) {
  Fence& fence = devices_[address];
  const Record& record = context_.record_of(address);
  const bool at_rest = record.cleanable() && !is_busy(record.stage);
  if (context_.options.observes()) fence.first = false;  // nothing is done that it could overtake
  if (!fence.first || fence.under_way || !at_rest || !view.burned() || !view.free()) return;
  fence.under_way = true;
  raise(address, view, [this, address](Result<placement::ProviderView> after) {
    devices_[address].under_way = false;
    if (!after) return context_.want_survey(context_.backoff(address));
    raised_(address, *after);
  });
}

}  // namespace reclaim
