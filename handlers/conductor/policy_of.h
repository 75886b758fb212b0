// The policy of a device: what device_spec and the whitelist say of it, and of one of Cyborg's what
// its last ARQ says. Pure.
#pragma once

#include <optional>

#include "handlers/conductor/context.h"

namespace reclaim {

// The policy of a device on record; nothing: no device_spec entry matches it.
[[nodiscard]] std::optional<DevicePolicy> policy_of(const ConductorPolicies& policies,
                                                    const Record& record);
// The policy of what the host shows at an address.
[[nodiscard]] std::optional<DevicePolicy> policy_of(const ConductorPolicies& policies,
                                                    const Sighting& sighting);
// True if the device is configured to be ours: by device_spec, or what is not a drive by the
// whitelist.
[[nodiscard]] bool is_ours(const ConductorPolicies& policies, const Sighting& sighting);
// Fills in what the configuration says of what the host shows there.
void know_whose(const ConductorPolicies& policies, Sighting& sighting);
[[nodiscard]] bool is_managed(const ConductorPolicies& policies, const Sighting& sighting);
[[nodiscard]] Planning planning_for(const ConductorContext& context, const Sighting& sighting);

}  // namespace reclaim
