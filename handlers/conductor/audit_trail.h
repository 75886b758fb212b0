// What of a transition goes into the audit journal. Pure.
#pragma once

#include <string>
#include <vector>

#include "state/device/record.h"
#include "state/device/step.h"
#include "state/ledger/audit.h"

namespace reclaim {

// In their order; the erasure itself is told by its certificate. Nothing of a device that is not
// cleaned. `detail`: what the event said.
[[nodiscard]] std::vector<AuditEntry> audit_of(const Record& before, const Update& update,
                                               const std::string& detail);
[[nodiscard]] AuditEntry audit_entry(AuditEvent event, const Record& record, std::string detail);

}  // namespace reclaim
