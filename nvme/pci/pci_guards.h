// The guards of a PCI function that is no NVMe drive: those of nvme/host/guards.h that hold for
// any function, and of what the host itself may do with it. They only read; whatever they cannot
// read refuses. Blocking; thread: a drive thread's or the scan's.
#pragma once

#include <string>
#include <vector>

#include "nvme/host/guards.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "nvme/pci/pci_step.h"

namespace reclaim::nvme {

// Looks at the guards in order, up to and including the first that refuses, or all of them.
// `function` is read_function()'s. `meanwhile`: the driver that a step of ours bound it to,
// accepted too.
[[nodiscard]] std::vector<GuardResult> look_at_function(const Options& options,
                                                        const PciClaimRequest& request,
                                                        const SysDrive& function, bool all,
                                                        const std::string& meanwhile = {});

}  // namespace reclaim::nvme
