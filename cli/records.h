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
// By PCI address or UUID. Errc::not_found says where to look.
[[nodiscard]] Result<Record> find_device(Session& session, const std::string& host,
                                         const std::string& device);

}  // namespace reclaim::cli
