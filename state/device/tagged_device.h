// A device with its tags in the form that Nova's device role tagging has for them: an element of
// `devices` in its metadata (http://openstack.org/schemas/nova/metadata/device-role-tagging/1.0).
// Pure. Thread: any.
#pragma once

#include <string>

#include "state/device/record.h"

namespace reclaim {

// A JSON object (docs/device-role-tagging.schema.json): type ("disk" for a drive), bus, address,
// serial and mac where they are known, tags. A "nic" always has a mac, so that a network card
// without is a "hostdev". The address is the host's; a guest sees the device at another one.
[[nodiscard]] std::string tagged_device(const Record& record);

}  // namespace reclaim
