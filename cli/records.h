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
// Loads the records of each of these hosts, in their order, many at a time. An error: Redis is not
// reached at all.
[[nodiscard]] Result<std::vector<Result<std::vector<Record>>>> load_each(
    Session& session, const std::vector<std::string>& hosts);
// Every host that ever announced itself.
[[nodiscard]] Result<std::vector<HostInfo>> known_hosts(Session& session);
// True if an operator's word means this device: its PCI address ("0000:01:00.0", "01:00.0",
// "1:00.0"), its UUID in any case, or its serial number.
[[nodiscard]] bool is_named(const Record& record, std::string_view device);
// The address of a drive whose controller or namespace an operator's word names as this host's
// kernel does ("nvme0", "/dev/nvme0n1"); any other word, and a name of two drives, as it is.
[[nodiscard]] std::string without_kernel_name(const std::string& sysfs_root,
                                              const std::string& device);
// The one device that the word nearly names, for the error; empty: none, or several. No address is
// near to another: each is a slot of its own.
[[nodiscard]] std::string nearly_named(const std::vector<Record>& records,
                                       const std::string& device);
// Finds a device of the host by one of these names. Errc::not_found says where to look, and what
// may be meant; Errc::invalid: two are meant.
[[nodiscard]] Result<Record> find_device(Session& session, const std::string& host,
                                         const std::string& name);

}  // namespace reclaim::cli
