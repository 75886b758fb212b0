// UUIDs as text, lower case with dashes.
#pragma once

#include <string>
#include <string_view>

#include "state/base/pci_address.h"

namespace reclaim {

// The device's own UUID: version 5 of host and lower-case PCI address, so that it survives a
// provider being re-created and a driver being unbound (design: "device").
[[nodiscard]] std::string device_uuid(std::string_view host, const PciAddress& address);

// A provider's that Reclaim makes: version 3 of its name in the namespace of DNS, as Cyborg's
// conductor makes it (17.0.0, conductor/manager.py get_rp_uuid_from_obj()), which takes what has
// another UUID for a provider that is not there, and cannot bind it.
[[nodiscard]] std::string provider_uuid(std::string_view provider_name);

// A message's on the bus: version 5 of its body, so that workers who get the same one name it
// alike.
[[nodiscard]] std::string message_uuid(std::string_view body);

// A random (version 4) UUID: request ids, lock tokens' holders. Never used inside the core.
[[nodiscard]] std::string random_uuid();

[[nodiscard]] bool looks_like_uuid(std::string_view text);

}  // namespace reclaim
