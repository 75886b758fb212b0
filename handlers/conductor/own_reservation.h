// A reservation without a cleaning: what this worker reserves for a reason of its own, and
// un-reserves when the reason is gone. The ledger remembers that it was this worker: nobody else's
// reservation is ended, of an operator, of Nova, of Cyborg, or of a tenancy.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"

namespace reclaim {

// Thread: the loop's.
class OwnReservation final {
 public:
  struct Reason {
    bool LedgerEntry::*mark;
    // Whether it is noted before Placement is asked to reserve, and until it has un-reserved, so
    // that a crash leaves no reservation that nobody ends; or from its answer on, and until it is
    // asked to un-reserve, so that a hand that came between is not taken for ours.
    bool noted_first;
    std::string_view begins;  // for the log: "… is bound: reserved"
    std::string_view is_over;
  };

  OwnReservation(const ConductorContext& context, LedgerGate& ledger, const Reason& reason)
      : context_(context), ledger_(ledger), reason_(reason) {}

  [[nodiscard]] bool is_by_us(const PciAddress& address) const;
  // A write to the ledger or to Placement that has not been answered.
  [[nodiscard]] bool is_under_way(const PciAddress& address) const {
    return under_way_.contains(address);
  }

  // Each is tried once; the next survey tries again what failed. The provider's generation in
  // `view` tells whether somebody got the device since it was read.
  void reserve(const PciAddress& address, const placement::ProviderView& view);
  // `answered` comes with what Placement said, before anything else is done.
  void unreserve(const PciAddress& address, const placement::ProviderView& view,
                 const std::function<void(const Status&)>& answered = nullptr);
  // It is not reserved any more, or for another reason.
  void forget(const PciAddress& address) { note(address, false, nullptr); }

 private:
  [[nodiscard]] LedgerEntry marked(const PciAddress& address, bool by_us) const;
  // `done` where it is kept, and nothing more is done where it is not.
  void note(const PciAddress& address, bool by_us, std::function<void()> done);
  void put(const PciAddress& address, const placement::ProviderView& view, std::int64_t reserved,
           std::function<void(const Status&)> done);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  Reason reason_;
  std::set<PciAddress> under_way_;
};

}  // namespace reclaim
