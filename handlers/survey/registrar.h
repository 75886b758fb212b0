// Registrar: what Placement is to know of a drive that no provider stands for yet (Cyborg NVMe
// specification, "Placement Integration"). Pure; who registers what, and when, is the conductor's
// business (handlers/conductor/registration.h).
#pragma once

#include <string>
#include <string_view>

#include "nvme/controller/facts.h"
#include "placement/providers.h"
#include "state/base/result.h"

namespace reclaim {

// The resource class as the specification names it: CUSTOM_NVME_<VENDOR>_<PRODUCT>, of ids in hex.
[[nodiscard]] std::string class_of_drive(std::string_view vendor_id, std::string_view product_id);

// The provider to be made below `root_uuid`, the compute node's. Refused where a drive on its own
// driver does not say what it can: its traits would be wrong. One that is not `managed` cannot say
// it before it is claimed, and has none but its owner's.
[[nodiscard]] Result<placement::NewDevice> new_device(const std::string& host,
                                                      const std::string& root_uuid,
                                                      const nvme::DriveFacts& drive,
                                                      bool managed = true);

}  // namespace reclaim
