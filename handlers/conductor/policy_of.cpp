#include "handlers/conductor/policy_of.h"

#include <cstdlib>

#include "handlers/survey/strictest.h"

namespace reclaim {
namespace {

// Where either the ARQ that bound it or the configuration says that libvirt does not rebind it, the
// drive is to be taken from where it stands.
DevicePolicy as_bound(DevicePolicy policy, const Record& record) {
  if (record.flow == Flow::cyborg && !record.arq.empty() && !record.managed) policy.managed = false;
  return policy;
}

}  // namespace

// What device_spec and, of one of Cyborg's, its last ARQ say of a device on record.
std::optional<DevicePolicy> policy_of(const ConductorPolicies& policies, const Record& record) {
  const auto id = [](const std::string& hex) {
    return static_cast<std::uint16_t>(std::strtoul(hex.c_str(), nullptr, 16));
  };
  auto policy = policies.device_policy(id(record.vendor_id), id(record.product_id), record.address);
  if (policy) policy = raised_by_names(as_bound(*policy, record), record.policies);
  return policy;
}

bool is_ours(const ConductorPolicies& policies, const Sighting& sighting) {
  if (!sighting.drive) return false;
  if (sighting.is_drive()) {
    return policies
        .device_policy(sighting.drive->vendor_id, sighting.drive->device_id, sighting.address)
        .has_value();
  }
  return policies.whitelist &&
         policies.whitelist(sighting.drive->vendor_id, sighting.drive->device_id, sighting.address);
}

bool is_managed(const ConductorPolicies& policies, const Sighting& sighting) {
  if (!sighting.drive) return true;
  const auto policy = policies.device_policy(sighting.drive->vendor_id, sighting.drive->device_id,
                                             sighting.address);
  return !policy || policy->managed;
}

Planning planning_for(const ConductorContext& context, const Sighting& sighting) {
  Planning planning{std::nullopt, context.policies.choose_method, context.options};
  if (sighting.drive) {
    planning.policy = context.policies.device_policy(sighting.drive->vendor_id,
                                                     sighting.drive->device_id, sighting.address);
    if (planning.policy) {
      planning.policy = raised_by_traits(*planning.policy, sighting.policy_traits());
    }
    const auto known = context.devices.find(sighting.address);
    if (planning.policy && known != context.devices.end()) {
      planning.policy = as_bound(*planning.policy, known->second.record);
    }
  }
  return planning;
}

}  // namespace reclaim
