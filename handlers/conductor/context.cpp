#include "handlers/conductor/context.h"

namespace reclaim {

bool ConductorContext::stays_ours(const PciAddress& address) const {
  const Device& device = devices.at(address);
  return (device.unsaved ? *device.unsaved : device.record).cleanable();
}

}  // namespace reclaim
