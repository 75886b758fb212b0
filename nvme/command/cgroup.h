// Finds the directory in which this process may make cgroups for operators' commands. Thread: any.
#pragma once

#include <string>

namespace reclaim::nvme {

// This process's own directory in the cgroup v2 tree, if it may make others there (the unit's
// Delegate=); empty: commands are ended by their process group alone.
[[nodiscard]] std::string own_cgroup(const std::string& proc_root);

}  // namespace reclaim::nvme
