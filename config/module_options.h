// Makes the modules' options beside their part of the settings: those that depend on the machine,
// and the questions to a device_spec. No module reads configuration. Pure. Thread: any.
#pragma once

#include <functional>
#include <string>

#include "config/settings.h"
#include "handlers/options.h"
#include "state/base/host_names.h"

namespace reclaim::config {

// The machine's own names and ids, read at start.
struct MachineFacts {
  std::string machine_id;
  std::string compute_id;  // empty: Nova's file is not there
  std::string boot_id;     // of the kernel that runs; empty: it does not tell
  std::string fqdn;        // usual name of the root provider; empty: not known
};

// The host's names: the one of its services, and those that Nova may give its node, the likeliest
// first.
[[nodiscard]] HostNames host_names(const Settings& settings, const MachineFacts& machine);

// Errc::invalid where [placement] is not configured at all.
[[nodiscard]] Result<placement::Options> placement_options(const Settings& settings,
                                                           const MachineFacts& machine);

// Errc::invalid where [cyborg], or [keystone_authtoken], is not configured at all.
[[nodiscard]] Result<placement::CyborgOptions> cyborg_options(const Settings& settings);
[[nodiscard]] Result<placement::TokenOptions> token_options(const Settings& settings);

[[nodiscard]] ConductorOptions conductor_options(const Settings& settings,
                                                 const MachineFacts& machine,
                                                 const std::string& version);

// Keeps a copy of the specs: outlives `settings`.
[[nodiscard]] DevicePolicyLookup device_policy_lookup(const Settings& settings);

// Keeps a copy of [devices] device_spec, for PCI functions that are no drives: outlives `settings`.
[[nodiscard]] DevicePolicyLookup function_policy_lookup(const Settings& settings);

// True for a drive to which discovery may send a command, and for another function on which it
// looks for guests: those that a device_spec entry matches.
[[nodiscard]] std::function<bool(const nvme::DriveFacts&)> may_be_asked(const Settings& settings);

// True for a device that a [pci] passthrough_whitelist entry of Cyborg's matches.
[[nodiscard]] Whitelist passthrough_whitelist(const Settings& settings);

// The policy matrix, in the words of nvme/erase/policy.h.
[[nodiscard]] MethodChoice method_choice();

}  // namespace reclaim::config
