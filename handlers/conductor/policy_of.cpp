#include "handlers/conductor/policy_of.h"

#include <cstdlib>

#include "handlers/survey/strictest.h"

namespace reclaim {
namespace {

// The policy, unmanaged if the ARQ that bound the drive says so: where either that or the
// configuration says that libvirt does not rebind it, the drive is to be taken from where it
// stands.
DevicePolicy as_bound(DevicePolicy policy, const Record& record) {
  if (record.flow == Flow::cyborg && !record.arq.empty() && !record.managed) policy.managed = false;
  return policy;
}

std::optional<DevicePolicy> look_up(const ConductorPolicies& policies, bool is_drive,
                                    std::uint16_t vendor_id, std::uint16_t product_id,
                                    const PciAddress& address) {
  const DevicePolicyLookup& lookup = is_drive ? policies.device_policy : policies.function_policy;
  return lookup ? lookup(vendor_id, product_id, address) : std::nullopt;
}

}  // namespace

std::optional<DevicePolicy> policy_of(const ConductorPolicies& policies, const Record& record) {
  const auto id = [](const std::string& hex) {
    return static_cast<std::uint16_t>(std::strtoul(hex.c_str(), nullptr, 16));
  };
  auto policy = look_up(policies, record.is_drive(), id(record.vendor_id), id(record.product_id),
                        record.address);
  if (policy) policy = raised_by_names(as_bound(*policy, record), record.policies);
  return policy;
}

std::optional<DevicePolicy> policy_of(const ConductorPolicies& policies, const Sighting& sighting) {
  if (!sighting.drive) return std::nullopt;
  auto policy = look_up(policies, sighting.is_drive(), sighting.drive->vendor_id,
                        sighting.drive->device_id, sighting.address);
  if (policy) policy = raised_by_traits(*std::move(policy), sighting.policy_traits());
  return policy;
}

bool is_ours(const ConductorPolicies& policies, const Sighting& sighting) {
  if (!sighting.drive) return false;
  if (policy_of(policies, sighting)) return true;
  return !sighting.is_drive() && policies.whitelist &&
         policies.whitelist(sighting.drive->vendor_id, sighting.drive->device_id, sighting.address);
}

void know_whose(const ConductorPolicies& policies, Sighting& sighting) {
  if (!sighting.drive) return;
  sighting.ours = is_ours(policies, sighting);
  const auto policy = policy_of(policies, sighting);
  sighting.by_steps = policy && !sighting.is_drive();
  if (sighting.by_steps) sighting.type_by_entry = policy->function.type;
}

bool is_managed(const ConductorPolicies& policies, const Sighting& sighting) {
  const auto policy = policy_of(policies, sighting);
  return !policy || policy->managed;
}

Planning planning_for(const ConductorContext& context, const Sighting& sighting) {
  Planning planning{policy_of(context.policies, sighting), context.policies.choose_method,
                    context.options};
  const auto known = context.devices.find(sighting.address);
  if (planning.policy && known != context.devices.end()) {
    planning.policy = as_bound(*planning.policy, known->second.record);
  }
  return planning;
}

}  // namespace reclaim
