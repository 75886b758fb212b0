// One drive as Cyborg's agent is told of it through its door (handlers/door/agent_door.h): the
// worker's view of it, as plain values. Nothing rests on it here. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "state/base/clock.h"
#include "state/base/pci_address.h"
#include "state/device/machine.h"

namespace reclaim {

struct ReportedDrive {
  PciAddress address;
  DeviceState state = DeviceState::error;
  WallMs state_since;
  std::string vendor_id;   // "144d"
  std::string product_id;  // "a80a"
  std::string model;
  std::string serial;          // empty: it was never read
  std::string resource_class;  // as in Placement, or as it would be registered
  // HW_NVME_* by what the drive says it can; nothing: not known to this worker.
  std::optional<std::vector<std::string>> traits;
  std::string action;  // the erase of its plan, "sanitize_crypto"; empty: known when it is claimed
  bool managed = true;
  std::string provider;  // UUID; empty: Placement does not know it
  std::string status;    // why it waits, or its error; one line
  bool held = false;
  bool handed_over = false;  // clean, and Cyborg's agent is to un-reserve it
  // Available, and nothing known speaks against it: settled, read, neither held nor in doubt.
  bool clean = false;
  bool offered = false;  // the last look found it unreserved
  WallMs cleaned_at;     // its last verified cleaning; 0: none that is known
  WallMs looked_at;      // when the last look at it began; 0: none yet
};

}  // namespace reclaim
