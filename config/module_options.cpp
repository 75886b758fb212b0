#include "config/module_options.h"

#include <fmt/core.h>

#include <utility>

#include "config/claims.h"
#include "nvme/erase/policy.h"

namespace reclaim::config {
namespace {

constexpr std::int64_t kMsPerS = 1000;

reclaim::InterruptedCleaning to_core(InterruptedCleaning policy) {
  switch (policy) {
    case InterruptedCleaning::automatic:
      return reclaim::InterruptedCleaning::automatic;
    case InterruptedCleaning::error:
      return reclaim::InterruptedCleaning::error;
    case InterruptedCleaning::resume:
      return reclaim::InterruptedCleaning::resume;
  }
  return reclaim::InterruptedCleaning::error;
}

// Who we are at Keystone.
Status fill_login(std::string_view group, const std::optional<AuthSettings>& auth,
                  placement::Options& out) {
  if (!auth) {
    return Error{Errc::invalid,
                 fmt::format("[{}] is not configured: auth_type, auth_url, username, password and "
                             "their domains, or an auth_section, are needed",
                             group)};
  }
  out.auth_type = auth->type == AuthType::password ? "password" : "v3applicationcredential";
  out.auth_url = auth->auth_url;
  out.username = auth->username;
  out.user_id = auth->user_id;
  out.password = auth->password;
  out.user_domain_name = auth->user_domain_name;
  out.user_domain_id = auth->user_domain_id;
  out.application_credential_id = auth->application_credential_id;
  out.application_credential_name = auth->application_credential_name;
  out.application_credential_secret = auth->application_credential_secret;
  out.project_name = auth->project_name;
  out.project_id = auth->project_id;
  out.project_domain_name = auth->project_domain_name;
  out.project_domain_id = auth->project_domain_id;
  out.domain_name = auth->domain_name;
  out.domain_id = auth->domain_id;
  out.system_scope = auth->system_scope;
  return Ok{};
}

template <typename T>
void fill_session(const T& from, placement::Options& out) {
  out.region_name = from.region_name;
  out.cafile = from.cafile;
  out.certfile = from.certfile;
  out.keyfile = from.keyfile;
  out.insecure = from.insecure;
}

template <typename T>
void fill_endpoint(const T& from, placement::Options& out) {
  fill_session(from, out);
  out.service_type = from.service_type;
  out.valid_interfaces = from.valid_interfaces;
  out.endpoint_override = from.endpoint_override;
  out.timeout_ms = from.timeout_s * static_cast<int>(kMsPerS);
}

}  // namespace

// An operator's word stands alone; else what nova-compute is most likely to have chosen.
HostNames host_names(const Settings& settings, const MachineFacts& machine) {
  HostNames names{settings.host, {settings.host}};
  if (!settings.reclaim.provider_name.empty()) {
    names.nodes = {settings.reclaim.provider_name};
  } else if (!machine.fqdn.empty() && machine.fqdn != settings.host) {
    names.nodes.push_back(machine.fqdn);
  }
  return names;
}

Result<placement::Options> placement_options(const Settings& settings,
                                             const MachineFacts& machine) {
  placement::Options out;
  if (Status filled = fill_login("placement", settings.placement.auth, out); !filled) {
    return std::move(filled).error();
  }
  fill_endpoint(settings.placement, out);
  out.root_provider_names = host_names(settings, machine).nodes;
  return out;
}

Result<placement::CyborgOptions> cyborg_options(const Settings& settings) {
  placement::CyborgOptions out;
  if (Status filled = fill_login("cyborg", settings.cyborg.auth, out.session); !filled) {
    return std::move(filled).error();
  }
  fill_endpoint(settings.cyborg, out.session);
  return out;
}

Result<placement::TokenOptions> token_options(const Settings& settings) {
  const TokenSettings& from = settings.keystone_authtoken;
  placement::TokenOptions out;
  if (Status filled = fill_login("keystone_authtoken", from.auth, out.session); !filled) {
    return std::move(filled).error();
  }
  fill_session(from, out.session);
  out.session.valid_interfaces = {from.interface};
  out.cache_time_ms = from.cache_time_s * kMsPerS;
  out.service_token_roles = from.service_token_roles;
  out.service_token_roles_required = from.service_token_roles_required;
  return out;
}

nvme::Options nvme_options(const Settings& settings) {
  nvme::Options out;
  out.sysfs_root = settings.reclaim.sysfs_root;
  out.dev_root = settings.reclaim.dev_root;
  out.proc_root = settings.reclaim.proc_root;
  out.run_path = settings.reclaim.run_path;
  out.libvirt_dirs = settings.reclaim.libvirt_dirs;
  out.lanes_max = static_cast<std::size_t>(settings.nvme.max_parallel);
  out.samples_max = static_cast<std::uint32_t>(settings.nvme.verify_samples);
  out.zero_bytes_per_s_max = settings.nvme.zero_bytes_per_s_max;
  out.foreign_sanitize_timeout_ms = settings.nvme.cleanup_timeout_s * kMsPerS;
  return out;
}

RedisOptions redis_options(const Settings& settings) {
  const RedisSettings& from = settings.redis;
  RedisOptions out;
  out.host = from.host;
  out.port = from.port;
  out.unix_socket = from.unix_socket;
  out.username = from.username;
  out.password = from.password;
  out.db = from.db;
  out.connect_timeout_ms = from.connect_timeout_ms;
  out.command_timeout_ms = from.command_timeout_ms;
  out.reconnect_min_ms = from.reconnect_min_ms;
  out.reconnect_max_ms = from.reconnect_max_ms;
  return out;
}

ConductorOptions conductor_options(const Settings& settings, const MachineFacts& machine,
                                   const std::string& version) {
  ConductorOptions out;
  out.host = settings.host;
  out.node_names = host_names(settings, machine).nodes;
  out.machine_id = machine.machine_id;
  out.compute_id = machine.compute_id;
  out.boot_id = machine.boot_id;
  out.version = version;
  // One worker a machine is held by the ledger's file lock; so after a crash the same machine may
  // take its own locks over without waiting for them to expire.
  out.holder = settings.host + "/" + machine.machine_id;
  out.interrupted_cleaning = to_core(settings.interrupted_cleaning);
  out.cleanup_timeout_ms = settings.nvme.cleanup_timeout_s * kMsPerS;
  out.stall_timeout_ms = settings.nvme.stall_timeout_s * kMsPerS;
  out.survey_interval_ms = settings.reclaim.survey_interval_s * kMsPerS;
  out.survey_jitter_ms = out.survey_interval_ms / 10;
  out.cleanings_max = static_cast<std::size_t>(settings.nvme.max_parallel);
  out.step_priorities = settings.nvme.step_priorities;
  out.manage_providers = settings.nvme.manage_providers;
  return out;
}

Whitelist passthrough_whitelist(const Settings& settings) {
  return [specs = settings.passthrough_whitelist](std::uint16_t vendor_id, std::uint16_t product_id,
                                                  const PciAddress& address) {
    return match(specs, vendor_id, product_id, address).has_value();
  };
}

DevicePolicyLookup device_policy_lookup(const Settings& settings) {
  return [specs = settings.nvme.device_specs, whitelist = settings.passthrough_whitelist](
             std::uint16_t vendor_id, std::uint16_t product_id,
             const PciAddress& address) -> std::optional<DevicePolicy> {
    const auto index = match(specs, vendor_id, product_id, address);
    if (!index) return std::nullopt;
    const DeviceSpec& spec = specs[*index];
    DevicePolicy out;
    out.managed = managed_of(spec, whitelist, vendor_id, product_id, address);
    out.shared_subsystem_allowed = spec.shared_subsystem == SharedSubsystem::allow;
    if (!spec.resource_class.empty()) out.resource_class = spec.resource_class;
    out.rules = spec.rules;
    return out;
  };
}

std::function<bool(const nvme::DriveFacts&)> may_be_asked(const Settings& settings) {
  return [specs = settings.nvme.device_specs](const nvme::DriveFacts& drive) {
    return match(specs, drive.vendor_id, drive.device_id, drive.address).has_value();
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
