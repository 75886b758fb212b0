// Tells which entries of the audit journal a transition makes. Pure.
#pragma once

#include <string>
#include <vector>

#include "state/device/record.h"
#include "state/device/step.h"
#include "state/ledger/audit.h"

namespace reclaim {

// The entries of a transition, in their order; the erasure itself is told by its certificate.
// Nothing of a device that is not cleaned, nor of a tenancy that Placement did not show. `detail`:
// what the event said.
[[nodiscard]] std::vector<AuditEntry> audit_of(const Record& before, const Update& update,
                                               const std::string& detail);
// An entry with the record's instance, if Placement showed it.
[[nodiscard]] AuditEntry audit_entry(AuditEvent event, const Record& record, std::string detail);

}  // namespace reclaim
