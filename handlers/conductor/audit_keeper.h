// Hands what is to be audited to the ledger's journal, each once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "handlers/conductor/context.h"
#include "state/ledger/audit.h"

namespace reclaim {

// Thread: the loop's.
class AuditKeeper final {
 public:
  explicit AuditKeeper(const ConductorContext& context) : context_(context) {}

  // The journal takes them in the background; what it cannot take is logged, and holds up nothing.
  // The same entries are not kept twice in a row, until forget_last().
  void keep(const PciAddress& address, const std::vector<AuditEntry>& entries);
  void forget_last(const PciAddress& address) { told_.erase(address); }

 private:
  const ConductorContext& context_;
  std::map<PciAddress, std::string> told_;
};

}  // namespace reclaim
