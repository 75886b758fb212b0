// Says whether a drive of this host may be qualified: that is, written over and erased, by an
// operator's word alone. It may only where neither Placement nor a record says that anyone may have
// it. Reads only; thread: the session's.
#pragma once

#include <string>

#include "cli/session.h"
#include "nvme/controller/facts.h"

namespace reclaim::cli {

struct QualifyStanding {
  bool has_provider = false;  // it is held in maintenance; else it is unknown to Placement
  // Set for a drive with a provider that its worker takes for dirty (cli/qualify_order.h).
  bool known_to_get_dirty = false;
  nvme::ClaimRequest request;  // with the serial; without rules
};

// Errc::refused with the remedy: a provider that is not held in maintenance, a tenant, a record, no
// NVMe drive. Other errors: Placement, Redis or the host could not be asked.
[[nodiscard]] Result<QualifyStanding> standing_for_qualify(Session& session,
                                                           const PciAddress& address,
                                                           const std::string& serial);

}  // namespace reclaim::cli
