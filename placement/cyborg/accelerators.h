// Accelerators: the seam between what decides (handlers/) and Cyborg's REST API, which Reclaim only
// ever reads, to map ARQ → device → provider. One real implementation (placement/cyborg/client.h),
// one in memory (tests/sim).
//
// Thread: the loop's; callbacks are called exactly once, later. Errors as in placement/providers.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/providers.h"
#include "state/base/host_names.h"
#include "state/base/pci_address.h"
#include "state/device/arq.h"

namespace reclaim::placement {

// A device of Cyborg's, with the provider of its deployable.
struct CyborgDevice {
  std::string uuid;  // empty: Cyborg does not tell which of the host's devices it is
  std::string type;  // "GPU", "SSD", "NVME", …
  std::string hostname;
  std::string status;  // "enabled" or "maintaining" (microversion 2.3); empty: it does not say
  std::optional<PciAddress> address;  // from the deployable's name or std_board_info
  std::string provider;               // rp_uuid of its deployable; empty: none
};

struct CyborgView {
  // The ARQs of this host, and those that hold a device and name no host: an unbinding that fails
  // half way (UnbindFailed) wipes host and device, so that only the UUID tells which it was.
  std::vector<Arq> arqs;
  std::vector<CyborgDevice> devices;
};

class Accelerators {
 public:
  virtual ~Accelerators() = default;

  // ARQs, devices and deployables of one host. Not atomic: what was bound between the requests may
  // be in one and not in the other.
  virtual void read(const HostNames& names, Callback<CyborgView> done) = 0;
};

}  // namespace reclaim::placement
