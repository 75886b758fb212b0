#include "handlers/conductor/audit_keeper.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim {
void AuditKeeper::keep(const PciAddress& address, const std::vector<AuditEntry>& entries) {
  std::string told;
  for (const AuditEntry& entry : entries) {
    told += fmt::format("{} {}; ", to_string(entry.event), entry.instance);
  }
  if (told.empty() || std::exchange(told_[address], told) == told) return;
  for (const AuditEntry& entry : entries) {
    context_.ports.ledger.keep_audit(entry, [this, address, event = entry.event](Status kept) {
      if (!kept) {
        context_.ports.log.error(log_name::kConductor,
                                 fmt::format("{}: the audit journal lacks that it is {}",
                                             to_string(address), to_string(event)),
                                 {{"why", kept.error().what}});
      }
    });
  }
}

}  // namespace reclaim
