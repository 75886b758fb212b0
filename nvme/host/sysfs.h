// Reads from sysfs what the host's kernel says of one PCI function and the drive behind it, by the
// function's address alone: nvmeN numbers are never computed with, since nvme0 need not be the
// parent of nvme0n1. Opens no device node. Blocking; thread: any but the loop's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/controller/hardware_identity.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct DeviceNumber {
  unsigned major = 0;
  unsigned minor = 0;
  friend bool operator==(const DeviceNumber&, const DeviceNumber&) = default;
};
[[nodiscard]] std::string to_string(const DeviceNumber& number);  // "259:0"
[[nodiscard]] Result<DeviceNumber> parse_device_number(std::string_view text);

struct CharacterDevice {
  std::string name;                    // "ng0n1", "vfio3"
  std::optional<DeviceNumber> number;  // none: the kernel makes no node of it
};

struct BlockDevice {
  std::string name;  // "nvme0n1", "nvme0n1p2", "dm-0"
  DeviceNumber number;
  std::vector<std::string> holders;  // names of md, dm, drbd, bcache devices built on it
};

// A network interface.
struct SysInterface {
  std::string name;                 // "enp59s0f0"
  bool up = false;                  // IFF_UP, or operstate says so
  std::vector<std::string> stacks;  // what it is a part of: its master and all above it
};

struct SysNamespace {
  BlockDevice disk;  // the node that reads and writes: with multipath, the subsystem's
  std::uint32_t nsid = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint32_t block_bytes = 0;
  // diskseq: no other disk has it while the host is up. None: a kernel before 5.15.
  std::optional<std::uint64_t> disk_sequence;
  std::vector<BlockDevice> partitions;
};

struct SysDrive {
  PciAddress address;
  std::uint16_t vendor_id = 0;
  std::uint16_t device_id = 0;
  std::uint32_t class_code = 0;
  std::string driver;  // "" when unbound
  int iommu_group = -1;
  // The nodes of its group ("41", "noiommu-41") and its cdevs ("vfio3"), when bound to vfio.
  std::vector<CharacterDevice> vfio_groups;
  std::vector<CharacterDevice> vfio_devices;
  std::uint32_t sriov_vfs_enabled = 0;
  bool is_virtual_function = false;
  HardwareIdentity hardware;  // as far as configuration space and the platform tell
  std::string mac;            // of a network card whose driver made one interface; empty: unknown

  // Below only with the nvme driver bound and its controller there.
  std::string controller;  // "nvme0"
  // Character nodes of its namespaces ("ng0n1"): commands pass through them, io_uring's included.
  std::vector<CharacterDevice> generic_nodes;
  DeviceNumber controller_number;
  std::string controller_state;  // "live", "resetting", …
  std::string serial;            // trimmed
  std::string subsystem_nqn;
  std::vector<SysNamespace> namespaces;  // by NSID

  // Every block device of the drive: disks and their partitions.
  [[nodiscard]] std::vector<const BlockDevice*> block_devices() const;

  // The network interfaces of another function than an NVMe drive, told only by read_function().
  // All its disks are in `namespaces` then, each with NSID 0, and its character devices in
  // `generic_nodes`.
  std::vector<SysInterface> interfaces;
};

// The names that the platform gives its slots, by the address of what is in each, without a
// function: "0000:c1:00". Many platforms name none.
using PciSlots = std::map<std::string, std::string>;
[[nodiscard]] PciSlots list_slots(const std::string& sysfs_root);

// Errc::not_found when there is no such function; Errc::failed when something that is there cannot
// be read or understood. Who reads many drives lists the slots once for all.
[[nodiscard]] Result<SysDrive> read_drive(const std::string& sysfs_root, const PciAddress& address);
[[nodiscard]] Result<SysDrive> read_drive(const std::string& sysfs_root, const PciAddress& address,
                                          const PciSlots& slots);

// Reads a function that is no NVMe drive, with whatever devices its driver made below it. Defined
// in function_uses.cpp. Errors as read_drive(); Errc::failed also where functions are behind it: it
// is a bridge, or as good as one.
[[nodiscard]] Result<SysDrive> read_function(const std::string& sysfs_root,
                                             const PciAddress& address);

// The driver that is bound to a function, empty for none. A driver that has just been bound may not
// have made its devices yet, and read_drive() may fail then. Errc::not_found as there.
[[nodiscard]] Result<std::string> read_driver(const std::string& sysfs_root,
                                              const PciAddress& address);

// The addresses of all functions of class NVMe (0108xx), sorted.
[[nodiscard]] Result<std::vector<PciAddress>> list_nvme_functions(const std::string& sysfs_root);

// The other controllers of the drive's subsystem, by its NQN: "nvme1". One file for each controller
// of the host is read.
[[nodiscard]] Result<std::vector<std::string>> subsystem_peers(const std::string& sysfs_root,
                                                               const SysDrive& drive);

// The names of the whole disks at the bottom of a block device: partitions are followed to their
// disk and stacked devices (dm, md, bcache) through slaves/. Names that are not block devices
// yield nothing.
[[nodiscard]] std::vector<std::string> disks_below(const std::string& sysfs_root,
                                                   const std::string& name);
// The block device with this number, or "" (btrfs, overlay and network filesystems have none).
[[nodiscard]] std::string block_name(const std::string& sysfs_root, const DeviceNumber& number);

// The block device in this folder, with what is built on it.
[[nodiscard]] Result<BlockDevice> read_block(const std::string& folder, const std::string& name);

// Configuration space as it is, by the function's folder: as many bytes as the kernel gives, none
// where it cannot be read.
[[nodiscard]] std::string read_config_space(const std::string& device);

// The first `bytes_max` bytes of a file without trailing white space.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t bytes_max);
// The last component of what a symbolic link points to; "" when there is no link.
[[nodiscard]] std::string link_name(const std::string& path);
// Sorted names in a directory; Errc::not_found when it does not exist.
[[nodiscard]] Result<std::vector<std::string>> list_directory(const std::string& path);

}  // namespace reclaim::nvme
