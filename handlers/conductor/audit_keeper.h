// Hands what is to be audited to the ledger's journal. What an authenticated order did has its
// entry each time; of any other event of a device that comes often, the rest of the minute is
// counted in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "handlers/conductor/context.h"
#include "state/ledger/audit.h"

namespace reclaim {

// Thread: the loop's.
class AuditKeeper final {
 public:
  explicit AuditKeeper(const ConductorContext& context) : context_(context) {}

  // The journal takes them in the background; what it cannot take is logged, and holds up nothing.
  // That a device is offered again and again is told once, until forget_last(). What an
  // authenticated order did (`by_proven_order`) is kept however many others there are, and is not
  // one of them.
  void keep(const PciAddress& address, const std::vector<AuditEntry>& entries,
            bool by_proven_order);
  void forget_last(const PciAddress& address) { told_.erase(address); }
  // Tells, at the stop, what was only counted, though its minute is not over.
  void tell_all_counted();

 private:
  // The entries of one kind of one device, within a minute from the first.
  struct Minute {
    MonoMs began;
    std::size_t kept = 0;
    bool is_counting = false;
    std::uint64_t counted = 0;
    AuditEntry last = {};  // of those that were counted
  };
  using Kind = std::pair<PciAddress, AuditEvent>;

  [[nodiscard]] bool is_told_again(const PciAddress& address,
                                   const std::vector<AuditEntry>& entries);
  void keep_or_count(const PciAddress& address, const AuditEntry& entry);
  void begin_to_count(AuditEntry entry);
  void tell_counted(const Kind& kind);
  void tell(const Minute& minute);
  void seal(const AuditEntry& entry);

  const ConductorContext& context_;
  std::map<PciAddress, std::string> told_;  // of its being on offer
  std::map<Kind, Minute> minutes_;
};

}  // namespace reclaim
