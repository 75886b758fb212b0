#include "config/door_files.h"

#include <fmt/core.h>
#include <grp.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "state/base/log.h"

namespace reclaim::config {

Result<std::optional<std::uint32_t>> door_group(const Settings& settings) {
  const std::string& name = settings.agent_door.group;
  if (settings.agent_door.socket.empty() || name.empty()) return std::optional<std::uint32_t>{};
  std::array<char, 65'536> buffer{};
  group entry{};
  group* found = nullptr;
  const int error = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return Error{Errc::invalid,
                 fmt::format("[agent_door] group: this host has no group '{}'{}; name that of the "
                             "cyborg-agent, or leave it empty, and root alone connects",
                             printable_excerpt(name, 60),
                             error == 0 ? "" : fmt::format(" ({})", std::strerror(error)))};
  }
  return std::optional<std::uint32_t>{found->gr_gid};
}

std::vector<Remark> door_remarks(const Settings& settings) {
  const std::string& socket = settings.agent_door.socket;
  if (socket.empty()) return {};
  const std::string folder = std::filesystem::path(socket).parent_path().string();
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return {{fmt::format("[agent_door] socket: {} is no folder", folder),
             "the unit makes /run/reclaim by itself when it starts; make any other one"}};
  }
  const auto group = door_group(settings);
  std::vector<Remark> out;
  const mode_t mode = found.st_mode & 07777U;
  const bool groups = group && *group && found.st_gid == **group;
  const bool reaches = (mode & S_IXOTH) != 0 || (groups && (mode & S_IXGRP) != 0);
  if (!settings.agent_door.group.empty() && !reaches) {
    out.push_back({fmt::format("[agent_door] socket: group {} cannot pass {} (mode {:04o})",
                               settings.agent_door.group, folder, mode),
                   "chmod 0711 it"});
  }
  if ((mode & S_IWOTH) != 0 && (mode & S_ISVTX) == 0) {
    out.push_back({fmt::format("[agent_door] socket: everybody may write to {} (mode {:04o}), and "
                               "answer in the worker's place",
                               folder, mode),
                   "chmod o-w it, or use /run/reclaim"});
  }
  return out;
}

}  // namespace reclaim::config
