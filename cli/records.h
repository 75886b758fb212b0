// The records of a host, as Redis has them.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "state/device/record.h"

namespace reclaim::cli {

// Empty: this host.
[[nodiscard]] std::string or_this_host(const Session& session, const std::string& host);
[[nodiscard]] Result<std::vector<Record>> load_records(Session& session, const std::string& host);
// Every host that ever announced itself.
[[nodiscard]] Result<std::vector<HostInfo>> known_hosts(Session& session);
// Whether an operator's word means this device: its PCI address, with or without the domain 0000,
// its UUID in any case, or its serial number.
[[nodiscard]] bool is_named(const Record& record, std::string_view device);
// Of the host. Errc::not_found says where to look; Errc::invalid: two are meant.
[[nodiscard]] Result<Record> find_device(Session& session, const std::string& host,
                                         const std::string& device);

}  // namespace reclaim::cli
