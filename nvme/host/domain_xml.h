// Reads which host devices a libvirt domain's XML names. Only this translation unit sees pugixml.
// Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct DomainDevices {
  std::string name;  // of the domain; "" when it has none
  std::vector<PciAddress>
      functions;                   // host PCI functions: hostdev, interface and nvme disk sources
  std::vector<std::string> nodes;  // host block devices by path
};

// Reads a definition (<domain>) or a status file (<domstatus>). Every <address> inside a <source>
// is the host's; those directly inside a device are the guest's. Text that is not XML, or a host
// address that cannot be read, is Errc::invalid: it may name our drive.
[[nodiscard]] Result<DomainDevices> parse_domain(std::string_view xml);

}  // namespace reclaim::nvme
