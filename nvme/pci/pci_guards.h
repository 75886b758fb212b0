// The guards of a PCI function that is no NVMe drive: those of design §5b that hold for any
// function, and of what the host itself may do with it. They only read; whatever they cannot read
// refuses. Blocking; thread: a drive thread's or the scan's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nvme/controller/hardware_identity.h"
#include "nvme/host/guards.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "state/base/pci_address.h"

namespace reclaim::nvme {

// What a claim of such a function is checked against.
struct PciClaimRequest {
  PciAddress address;
  std::string resource_class;  // of the provider: CUSTOM_PCI_<VID>_<PID> must match the ids
  std::optional<std::string> resource_class_override;  // device_spec's own, normalised
  // The driver of the host that its device_spec names; beside it, only none and those of vfio are
  // accepted. Empty: it names none.
  std::string driver;
  HardwareIdentity expected;  // as recorded; empty: nothing recorded yet
};

// In order, up to and including the first that refuses, or all of them. `function` is
// read_function()'s. `meanwhile`: the driver that a step of ours bound it to, accepted too.
[[nodiscard]] std::vector<GuardResult> look_at_function(const Options& options,
                                                        const PciClaimRequest& request,
                                                        const SysDrive& function, bool all,
                                                        const std::string& meanwhile = {});

}  // namespace reclaim::nvme
