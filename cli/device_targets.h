// Chooses the devices that a command is for: named ones of a host, or those of some hosts in a
// state.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "state/device/record.h"

namespace reclaim::cli {

struct DeviceChoice {
  std::vector<std::string> devices;  // addresses, UUIDs or serial numbers, of one host
  std::vector<std::string> hosts;    // empty: this host
  bool all_hosts = false;
  std::vector<std::string> states;       // with no devices named: those in one of them
  std::vector<std::string> labels = {};  // of all hosts, those that have each of them
};

// The hosts that `hosts` and `all_hosts` mean, or those of all that have each of the `labels`, as
// their workers last told. Errc::not_found names those that Redis knows.
[[nodiscard]] Result<std::vector<std::string>> chosen_hosts(
    Session& session, const std::vector<std::string>& hosts, bool all_hosts,
    const std::vector<std::string>& labels = {});

// The records of the chosen devices, by host and address, each once. Errc::usage: the choice is
// none.
[[nodiscard]] Result<std::vector<Record>> chosen_devices(Session& session,
                                                         const DeviceChoice& choice);

}  // namespace reclaim::cli
