// Makes the request that a claim of a device is checked against, from its record and the policy
// that counts for it. For the worker, and for `reclaim plan`, which asks the guards without a
// claim. Pure.
#pragma once

#include "handlers/options.h"
#include "nvme/controller/facts.h"
#include "nvme/pci/pci_step.h"
#include "state/device/record.h"

namespace reclaim {

[[nodiscard]] nvme::ClaimRequest claim_request(const Record& record, const DevicePolicy& policy);
// The claim request of a device that is no drive.
[[nodiscard]] nvme::PciClaimRequest function_claim_request(const Record& record,
                                                           const DevicePolicy& policy);

}  // namespace reclaim
