#include "nvme/command/cgroup.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace reclaim::nvme {
namespace {

// "SOURCE MOUNTPOINT cgroup2 …" (proc(5), /proc/PID/mounts).
std::string mount_point(const std::string& proc_root) {
  std::ifstream mounts(proc_root + "/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string source;
    std::string at;
    std::string type;
    if (fields >> source >> at >> type && type == "cgroup2") return at;
  }
  return {};
}

}  // namespace

std::string own_cgroup(const std::string& proc_root) {
  const std::string root = mount_point(proc_root);
  std::ifstream memberships(proc_root + "/self/cgroup");
  for (std::string line; !root.empty() && std::getline(memberships, line);) {
    if (!line.starts_with("0::/")) continue;  // cgroups(7): 0 and no controllers is version 2
    const std::string path = root + line.substr(3);
    return ::access((path + "/cgroup.procs").c_str(), W_OK) == 0 ? path : std::string();
  }
  return {};
}

}  // namespace reclaim::nvme
