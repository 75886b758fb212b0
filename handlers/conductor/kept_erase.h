// A drive that was erased and verified, and that cannot be given back yet: Cyborg has it
// `maintaining`, or its provider was taken away or is not reserved. Its erase counts for as long as
// the claim that it was done under holds, the ledger knows no newer dirt and the drive's counters
// stand still, so that it is not repeated. The release itself is none of this file's business.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "handlers/conductor/admissions.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/conductor/lock_keeper.h"

namespace reclaim {

// Thread: the loop's. `epoch`: of the record that asks for it, and that the answer belongs to.
class KeptErase final {
 public:
  // The reason why a release does not come about now.
  struct Reason {
    std::string why;
    Trigger otherwise = Trigger::placement_changed;  // what is answered where it is not kept
    bool for_ever = false;  // an operator ends it; anything else is waited for some minutes
  };

  // `look`: the last look, of a record of that epoch.
  KeptErase(const ConductorContext& context, LockKeeper& locks, DriveClaims& claims,
            Admissions& admissions,
            std::function<void(const PciAddress& address, std::uint64_t epoch)> look)
      : context_(context),
        locks_(locks),
        claims_(claims),
        admissions_(admissions),
        look_(std::move(look)) {}

  // The look that the record asks for: at once, or in a while where its release is withheld.
  void look_when_due(const PciAddress& address, std::uint64_t epoch);
  // It is looked at again in a while, or `otherwise` is answered.
  void withhold(const PciAddress& address, std::uint64_t epoch, const Reason& reason);
  // Finds which provider stands for the device now: `next`, if it is the one on record, alone, and
  // its owner's. Another one is taken over, anything else waited for.
  void find_provider(const PciAddress& address, std::uint64_t epoch, const Reason& reason,
                     std::function<void()> next);
  // The claim is given up, or the drive given back.
  void forget(const PciAddress& address) { since_.erase(address); }

  // Its record says that its release is withheld.
  [[nodiscard]] static bool is_withheld(const Record& record) {
    return record.stage == Stage::looking && !record.waiting_for.empty();
  }

 private:
  [[nodiscard]] bool may_be_kept(const Record& record, bool for_ever);

  const ConductorContext& context_;
  LockKeeper& locks_;
  DriveClaims& claims_;
  Admissions& admissions_;
  std::function<void(const PciAddress& address, std::uint64_t epoch)> look_;
  std::map<PciAddress, MonoMs> since_;  // the release of it is withheld
};

}  // namespace reclaim
