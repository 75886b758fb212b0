// The kernel's picture of the drives as files under an emulated root: sys/, dev/ and proc/, laid
// out as Linux 6.1 does (symbolic links are relative, so a root can be moved). Thread: any, one at
// a time for one drive (Host sees to it).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "state/base/result.h"
#include "tests/emulator/host/drive_file.h"

namespace reclaim::emulator {

inline constexpr unsigned kControllerMajor = 238;  // dynamic in a real kernel
inline constexpr unsigned kVfioMajor = 240;
inline constexpr unsigned kBlockMajor = 259;  // blkext, as NVMe disks have it
inline constexpr unsigned kVfioMinorBase = 1;

std::uint32_t block_minor(const DriveState& state, std::uint32_t nsid);
std::string controller_name(const DriveState& state);                // "nvme0"
std::string disk_name(const DriveState& state, std::uint32_t nsid);  // "nvme0n1"
std::string text_of(std::span<const char> field);  // up to NUL, blanks at the end cut

class SysfsTree final {
 public:
  explicit SysfsTree(std::filesystem::path root) : root_(std::move(root)) {}

  // The parts that do not depend on a drive.
  [[nodiscard]] Status create_skeleton() const;
  // Makes the tree agree with what the drive is now: driver, controller, namespaces, vfio nodes.
  [[nodiscard]] Status sync(DriveFile& drive) const;
  // The function leaves the bus.
  void remove_function(const std::string& address) const;
  // The PCI function's folder in sys/devices.
  [[nodiscard]] std::filesystem::path device_folder(const std::string& address) const;
  [[nodiscard]] bool group_on_vfio(const std::string& group) const;

 private:
  void function_files(const DriveState& state, const std::string& address) const;
  void driver_links(const DriveState& state, const std::string& address) const;
  void controller_files(const DriveState& state, const std::string& address) const;
  [[nodiscard]] std::filesystem::path subsystem_folder(const DriveState& state) const;
  void subsystem_files(const DriveState& state, const std::string& address) const;
  void namespace_files(const DriveState& state, const std::string& address,
                       std::uint32_t nsid) const;
  void remove_namespace(const DriveState& state, const std::string& address,
                        std::uint32_t nsid) const;
  void remove_controller(const DriveState& state, const std::string& address) const;
  void vfio_files(const DriveState& state, const std::string& address, bool present) const;

  std::filesystem::path root_;
};

}  // namespace reclaim::emulator
