// A reservation without a cleaning: what this worker reserves for a reason of its own, and
// un-reserves when the reason is gone. The ledger knows of each write before Placement does, and
// until its outcome is known, so that neither a lost answer nor a crash leaves a reservation that
// nobody ends, and nobody else's is ended: of an operator, of Nova, of Cyborg, or of a tenancy.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/write_fence.h"
#include "handlers/survey/reserved_by.h"

namespace reclaim {

// Thread: the loop's.
class OwnReservation final {
 public:
  struct Reason {
    bool LedgerEntry::*mark;
    std::string_view begins;  // for the log: "… is bound: reserved"
    std::string_view is_over;
  };

  OwnReservation(const ConductorContext& context, LedgerGate& ledger, WriteFence& fence,
                 const Reason& reason)
      : context_(context), ledger_(ledger), fence_(fence), reason_(reason) {}

  // It is ours, or may be, or may come to be.
  [[nodiscard]] bool is_marked(const PciAddress& address) const;
  // Its last write has no outcome yet: another one, at a later generation, gives it one.
  [[nodiscard]] bool is_asked(const PciAddress& address) const;
  [[nodiscard]] ReservedBy reserved_by(const PciAddress& address,
                                       const placement::ProviderView& view) const;
  // True if a write is under way, or one to Placement was when the survey that is judged began:
  // what that saw may be from before it.
  [[nodiscard]] bool is_under_way(const PciAddress& address) const;

  // Each write is tried once; the next survey tells what became of it, and tries again. The
  // provider's generation in `view` tells whether somebody got the device since it was read.
  void reserve(const PciAddress& address, const placement::ProviderView& view);
  void unreserve(const PciAddress& address, const placement::ProviderView& view);
  // It is not reserved any more, or for another reason.
  void forget(const PciAddress& address);

 private:
  // The ledger's mark of the reservation.
  struct Mark {
    bool is_ours = false;
    WriteAsked asked = {};
  };

  [[nodiscard]] Mark mark_of(const PciAddress& address) const;
  void note(const PciAddress& address, const Mark& mark, std::function<void(Status)> done);
  void write(const PciAddress& address, const placement::ProviderView& view, bool reserved);
  void answered(const PciAddress& address, const Mark& before, bool reserved,
                const Result<placement::ProviderView>& after);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  WriteFence& fence_;
  Reason reason_;
  std::set<PciAddress> under_way_;
  std::map<PciAddress, MonoMs> settled_;  // when its last write to Placement was
};

}  // namespace reclaim
