#include "config/module_options.h"

#include <fmt/core.h>

#include <utility>

#include "config/claims.h"
#include "nvme/erase/policy.h"

namespace reclaim::config {
namespace {

Error no_login(std::string_view group) {
  return Error{Errc::invalid,
               fmt::format("[{}] is not configured: auth_type, auth_url, username, password and "
                           "their domains, or an auth_section, are needed",
                           group)};
}

}  // namespace

// An operator's word stands alone; else what nova-compute is most likely to have chosen.
HostNames host_names(const Settings& settings, const MachineFacts& machine) {
  HostNames names{settings.host, {settings.host}};
  if (!settings.provider_name.empty()) {
    names.nodes = {settings.provider_name};
  } else if (!machine.fqdn.empty() && machine.fqdn != settings.host) {
    names.nodes.push_back(machine.fqdn);
  }
  return names;
}

Result<placement::Options> placement_options(const Settings& settings,
                                             const MachineFacts& machine) {
  if (settings.logins.placement.empty()) return no_login("placement");
  placement::Options out = settings.placement;
  out.host = settings.host;
  out.root_provider_names = host_names(settings, machine).nodes;
  if (!settings.policies.empty()) out.policy_trait_prefix = kPolicyTraitPrefix;
  return out;
}

Result<placement::CyborgOptions> cyborg_options(const Settings& settings) {
  if (settings.logins.cyborg.empty()) return no_login("cyborg");
  placement::CyborgOptions out = settings.cyborg;
  out.session.host = settings.host;
  return out;
}

Result<placement::TokenOptions> token_options(const Settings& settings) {
  if (settings.logins.tokens.empty()) return no_login("keystone_authtoken");
  placement::TokenOptions out = settings.tokens;
  out.session.host = settings.host;
  return out;
}

ConductorOptions conductor_options(const Settings& settings, const MachineFacts& machine,
                                   const std::string& version) {
  ConductorOptions out = settings.conductor;
  out.host = settings.host;
  out.node_names = host_names(settings, machine).nodes;
  out.machine_id = machine.machine_id;
  out.compute_id = machine.compute_id;
  out.boot_id = machine.boot_id;
  out.version = version;
  // One worker a machine is held by the ledger's file lock; so after a crash the same machine may
  // take its own locks over without waiting for them to expire.
  out.holder = settings.host + "/" + machine.machine_id;
  out.hears_cleanups = settings.listen_rpc || !settings.agent_door.socket.empty();
  out.survey_jitter_ms = out.survey_interval_ms / 10;
  return out;
}

Whitelist passthrough_whitelist(const Settings& settings) {
  return [specs = settings.passthrough_whitelist](std::uint16_t vendor_id, std::uint16_t product_id,
                                                  const PciAddress& address) {
    return match(specs, vendor_id, product_id, address).has_value();
  };
}

DevicePolicyLookup device_policy_lookup(const Settings& settings) {
  return [specs = settings.device_specs, whitelist = settings.passthrough_whitelist,
          steps = settings.steps, automated = settings.conductor.clean_automated,
          roles = role_policies(settings), timeout_ms = settings.conductor.cleanup_timeout_ms](
             std::uint16_t vendor_id, std::uint16_t product_id,
             const PciAddress& address) -> std::optional<DevicePolicy> {
    const auto index = match(specs, vendor_id, product_id, address);
    if (!index) return std::nullopt;
    const DeviceSpec& spec = specs[*index];
    DevicePolicy out;
    out.managed = managed_of(spec, whitelist, vendor_id, product_id, address);
    if (spec.cleanup_timeout_s)
      out.cleanup_timeout_ms = std::int64_t{*spec.cleanup_timeout_s} * 1000;
    out.manual = spec.manual.value_or(!automated);
    out.steps = steps_for(steps, spec, vendor_id, product_id, address);
    out.shared_subsystem_allowed = spec.shared_subsystem == SharedSubsystem::allow;
    if (!spec.resource_class.empty()) out.resource_class = spec.resource_class;
    out.rules = spec.rules;
    return policy_by_role(std::move(out), spec, roles, timeout_ms);
  };
}

DevicePolicyLookup function_policy_lookup(const Settings& settings) {
  return [specs = settings.function_specs, steps = settings.steps,
          automated = settings.conductor.clean_automated, roles = role_policies(settings),
          timeout_ms = settings.conductor.cleanup_timeout_ms](
             std::uint16_t vendor_id, std::uint16_t product_id,
             const PciAddress& address) -> std::optional<DevicePolicy> {
    const auto index = match(specs, vendor_id, product_id, address);
    if (!index) return std::nullopt;
    const DeviceSpec& spec = specs[*index];
    DevicePolicy out;
    out.manual = spec.manual.value_or(!automated);
    out.steps = steps_for(steps, spec, vendor_id, product_id, address);
    if (!spec.resource_class.empty()) out.resource_class = spec.resource_class;
    out.function = {spec.type, spec.driver, spec.roms_allowed, spec.config_ignored};
    return policy_by_role(std::move(out), spec, roles, timeout_ms);
  };
}

std::function<bool(const nvme::DriveFacts&)> may_be_asked(const Settings& settings) {
  return [drives = settings.device_specs,
          functions = settings.function_specs](const nvme::DriveFacts& device) {
    return match(device.is_drive() ? drives : functions, device.vendor_id, device.device_id,
                 device.address)
        .has_value();
  };
}

MethodChoice method_choice() {
  return [](const DevicePolicy& policy,
            const nvme::Capabilities& capabilities) -> Result<nvme::EraseMethod> {
    auto method =
        nvme::choose_method(nvme::Policy{policy.rules.action, policy.rules.strategy}, capabilities);
    if (!method) return method;
    if (auto judged = nvme::check_verification(policy.rules, *method); !judged) {
      return std::move(judged).error();
    }
    return method;
  };
}

}  // namespace reclaim::config
