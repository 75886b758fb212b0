// Host: the ways in which this machine itself may use a drive.
#include <fstream>

#include "tests/emulator/host/host.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

// Replaces the lines of a file that contain `marker` by `line` (or by nothing).
void edit_lines(const fs::path& path, const std::string& marker, const std::string& line) {
  std::ifstream in(path);
  std::string kept;
  for (std::string each; std::getline(in, each);) {
    if (each.find(marker) == std::string::npos) kept += each + "\n";
  }
  in.close();
  if (!line.empty()) kept += line + "\n";
  std::ofstream(path, std::ios::trunc) << kept;
}

}  // namespace

Status Host::claim(const std::string& address, bool claimed) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  (*found)->with([&](Controller&, DriveState& state) { state.host.claimed = claimed; });
  return Ok{};
}

Status Host::mount(const std::string& address, const std::string& mount_point) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  std::string disk;
  std::uint32_t minor = 0;
  (*found)->with([&](Controller&, DriveState& state) {
    disk = "/dev/" + disk_name(state, 1);
    minor = block_minor(state, 1);
  });
  const std::string line = mount_point.empty()
                               ? ""
                               : "97 22 " + std::to_string(kBlockMajor) + ":" +
                                     std::to_string(minor) + " / " + mount_point +
                                     " rw,relatime shared:55 - ext4 " + disk + " rw";
  edit_lines(root_ / "proc/self/mountinfo", " " + disk + " ", line);
  edit_lines(root_ / "proc/1/mountinfo", " " + disk + " ", line);
  edit_lines(root_ / "proc/mounts", disk + " ",
             mount_point.empty() ? "" : disk + " " + mount_point + " ext4 rw,relatime 0 0");
  return claim(address, !mount_point.empty());
}

Status Host::swap_on(const std::string& address, bool on) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const std::string disk =
      (*found)->with([](Controller&, DriveState& state) { return "/dev/" + disk_name(state, 1); });
  const std::string line = disk + "                          partition\t65532\t\t0\t\t-2";
  edit_lines(root_ / "proc/swaps", disk + " ", on ? line : "");
  return claim(address, on);
}

Status Host::hold(const std::string& address, const std::string& holder) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const std::string disk =
      (*found)->with([](Controller&, DriveState& state) { return disk_name(state, 1); });
  const fs::path holders = fs::canonical(root_ / "sys/block" / disk) / "holders";
  for (const auto& each : fs::directory_iterator(holders)) fs::remove_all(each.path());
  if (holder.empty()) return claim(address, false);
  const fs::path target = root_ / "sys/devices/virtual/block" / holder;
  fs::create_directories(target / "slaves");
  fs::create_symlink(target.lexically_relative(holders), holders / holder);
  return claim(address, true);
}

}  // namespace reclaim::emulator
