// What the modules are told beside their part of the settings: what depends on the machine, and
// what is asked of a device_spec. No module reads configuration. Pure. Thread: any.
#pragma once

#include <functional>
#include <string>

#include "config/settings.h"
#include "handlers/options.h"
#include "state/base/host_names.h"

namespace reclaim::config {

// What this machine says of itself, read at start.
struct MachineFacts {
  std::string machine_id;
  std::string compute_id;  // empty: Nova's file is not there
  std::string boot_id;     // of the kernel that runs; empty: it does not tell
  std::string fqdn;        // usual name of the root provider; empty: not known
};

// What this host is called: by its services, and what Nova may call its node, the likeliest first.
[[nodiscard]] HostNames host_names(const Settings& settings, const MachineFacts& machine);

// Errc::invalid where [placement] is not configured at all.
[[nodiscard]] Result<placement::Options> placement_options(const Settings& settings,
                                                           const MachineFacts& machine);

// The same of [cyborg], and of [keystone_authtoken].
[[nodiscard]] Result<placement::CyborgOptions> cyborg_options(const Settings& settings);
[[nodiscard]] Result<placement::TokenOptions> token_options(const Settings& settings);

[[nodiscard]] ConductorOptions conductor_options(const Settings& settings,
                                                 const MachineFacts& machine,
                                                 const std::string& version);

// Keeps a copy of the specs: outlives `settings`.
[[nodiscard]] DevicePolicyLookup device_policy_lookup(const Settings& settings);

// The same of [devices] device_spec, for PCI functions that are no drives.
[[nodiscard]] DevicePolicyLookup function_policy_lookup(const Settings& settings);

// Which drives discovery may send a command to, and of which other functions it looks for guests:
// those that a device_spec entry matches.
[[nodiscard]] std::function<bool(const nvme::DriveFacts&)> may_be_asked(const Settings& settings);

// The same of [pci] passthrough_whitelist.
[[nodiscard]] Whitelist passthrough_whitelist(const Settings& settings);

// The policy matrix, in the words of nvme/erase/policy.h.
[[nodiscard]] MethodChoice method_choice();

}  // namespace reclaim::config
