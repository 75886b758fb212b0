// The socket of [agent_door] as this machine sees it: its group, and the folder that it is made in.
// Thread: any; reads the system's user database and the file's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/security.h"
#include "config/settings.h"
#include "state/base/result.h"

namespace reclaim::config {

// The gid of [agent_door] group; nothing: it is empty, so that root alone connects. Errc::invalid
// names a group that there is none of.
[[nodiscard]] Result<std::optional<std::uint32_t>> door_group(const Settings& settings);

// Says what is wrong with the socket's folder: it is missing, the group cannot reach the socket
// there, or others could replace it.
[[nodiscard]] std::vector<Remark> door_remarks(const Settings& settings);

}  // namespace reclaim::config
