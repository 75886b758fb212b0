// Guards on the host's own use of the drive: mounted, swapped on, part of something stacked.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nvme/host/guards.h"
#include "nvme/host/mounts.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kProcBytesMax = 16U << 20U;

// The mounts of init's namespace, which is the host's; where that is not readable, our own.
Result<std::vector<Mount>> read_mounts(const Options& options) {
  auto text = read_file(options.proc_root + "/1/mountinfo", kProcBytesMax);
  if (!text) text = read_file(options.proc_root + "/self/mountinfo", kProcBytesMax);
  if (!text) return std::move(text).error();
  return parse_mountinfo(*text);
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// True if the text names this node: "/dev/nvme0n1p1". Other paths' last components do not count.
bool names_node(std::string_view text, const std::string& node) {
  return text == "/dev/" + node || text == node;
}

// Returns the node's name if it is the drive's, else "".
std::string node_of_ours(const SysDrive& drive, const std::string& name) {
  const auto devices = drive.block_devices();
  const bool ours = std::any_of(devices.begin(), devices.end(), [&name](const BlockDevice* device) {
    return device->name == name;
  });
  return ours ? name : std::string();
}

bool is_disk_of(const SysDrive& drive, const std::string& disk) {
  return std::any_of(drive.namespaces.begin(), drive.namespaces.end(),
                     [&disk](const SysNamespace& ns) { return ns.disk.name == disk; });
}

// True if the host runs from what is mounted there: losing it would take the host down, whatever
// the other guards miss.
bool is_vital(const std::string& mount_point) {
  for (const std::string_view vital :
       {"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/var/lib", "/etc", "/home", "/opt"}) {
    if (mount_point == vital) return true;
  }
  return false;
}

}  // namespace

GuardResult guard_own_disk(const GuardContext& context) {
  const auto mounts = read_mounts(context.options);
  if (!mounts) return refuses("own_disk", Errc::refused, mounts.error().what);
  const std::string& sysfs = context.options.sysfs_root;
  std::string root_disks;
  for (const Mount& mount : *mounts) {
    if (!is_vital(mount.where)) continue;
    const auto number = parse_device_number(mount.number);
    std::string name = number ? block_name(sysfs, *number) : std::string();
    // btrfs has numbers of its own; its source is one of its devices.
    if (name.empty() && mount.source.rfind("/dev/", 0) == 0) name = base_name(mount.source);
    for (const std::string& disk : disks_below(sysfs, name)) {
      if (is_disk_of(context.drive, disk)) {
        return refuses("own_disk", Errc::refused,
                       fmt::format("{} carries the host's own {} (through {}); it is not a drive "
                                   "to give away: correct device_spec",
                                   disk, mount.where, name));
      }
      if (mount.where == "/") root_disks += (root_disks.empty() ? "" : ", ") + disk;
    }
  }
  return passes("own_disk", root_disks.empty()
                                ? std::string("the host's root is on no local disk we can see")
                                : fmt::format("the host's root is on {}", root_disks));
}

GuardResult guard_holders(const GuardContext& context) {
  for (const BlockDevice* device : context.drive.block_devices()) {
    if (device->holders.empty()) continue;
    return refuses("holders", Errc::refused,
                   fmt::format("{} is held by {} (md, LVM, dm or bcache); stop it (mdadm --stop, "
                               "vgchange -an, dmsetup remove) and keep the host from assembling "
                               "tenants' drives with the udev rules that come with Reclaim",
                               device->name, fmt::join(device->holders, ", ")));
  }
  return passes("holders", "nothing is stacked on it");
}

GuardResult guard_mounted(const GuardContext& context) {
  const auto mounts = read_mounts(context.options);
  if (!mounts) return refuses("mounted", Errc::refused, mounts.error().what);
  for (const Mount& mount : *mounts) {
    for (const BlockDevice* device : context.drive.block_devices()) {
      if (mount.number != to_string(device->number) && !names_node(mount.source, device->name)) {
        continue;
      }
      return refuses("mounted", Errc::refused,
                     fmt::format("/dev/{} is mounted on {} ({}); unmount it", device->name,
                                 mount.where, mount.type));
    }
  }
  return passes("mounted", fmt::format("none of {} mounts is of it", mounts->size()));
}

GuardResult guard_swap(const GuardContext& context) {
  const auto text = read_file(context.options.proc_root + "/swaps", kProcBytesMax);
  if (!text) {
    // A kernel without swap has no such file.
    if (text.error().code == Errc::not_found) return passes("swap", "the kernel has no swap");
    return refuses("swap", Errc::refused, text.error().what);
  }
  const std::vector<std::string> swaps = parse_swaps(*text);
  for (const std::string& swap : swaps) {
    for (const BlockDevice* device : context.drive.block_devices()) {
      if (!names_node(swap, device->name)) continue;
      return refuses("swap", Errc::refused,
                     fmt::format("the host swaps on {}; run `swapoff {}`", swap, swap));
    }
  }
  return passes("swap", fmt::format("none of {} swap areas is on it", swaps.size()));
}

GuardResult guard_btrfs_member(const GuardContext& context) {
  // mountinfo names one device of a btrfs filesystem; the others stand only here. (A zfs pool shows
  // nowhere; it holds its devices exclusively, so that our claim fails.)
  const std::string folder = context.options.sysfs_root + "/fs/btrfs";
  auto filesystems = list_directory(folder);
  if (!filesystems) {
    if (filesystems.error().code == Errc::not_found) {
      return passes("btrfs_member", "no btrfs filesystem is mounted");
    }
    return refuses("btrfs_member", Errc::refused, filesystems.error().what);
  }
  for (const std::string& filesystem : *filesystems) {
    auto members = list_directory(folder + "/" + filesystem + "/devices");
    if (!members) {
      if (members.error().code == Errc::not_found) continue;  // "features" and the like
      return refuses("btrfs_member", Errc::refused, members.error().what);
    }
    for (const std::string& member : *members) {
      for (const BlockDevice* device : context.drive.block_devices()) {
        if (member != device->name) continue;
        return refuses("btrfs_member", Errc::refused,
                       fmt::format("/dev/{} belongs to the mounted btrfs filesystem {}; unmount it",
                                   member, filesystem));
      }
    }
  }
  return passes("btrfs_member", "no mounted btrfs filesystem uses it");
}

GuardResult guard_loop(const GuardContext& context) {
  // A loop device opens what it stands on inside the kernel: no claim, no process's descriptor.
  const std::string folder = context.options.sysfs_root + "/class/block";
  const auto names = list_directory(folder);
  if (!names) return refuses("loop", Errc::refused, names.error().what);
  for (const std::string& name : *names) {
    if (name.rfind("loop", 0) != 0) continue;
    const auto backing = read_file(folder + "/" + name + "/loop/backing_file", kProcBytesMax);
    if (!backing && backing.error().code == Errc::not_found) continue;  // not in use
    if (!backing) return refuses("loop", Errc::refused, backing.error().what);
    const std::string node = node_of_ours(context.drive, node_behind(context.options, *backing));
    if (node.empty()) continue;
    return refuses("loop", Errc::refused,
                   fmt::format("/dev/{} uses {}; run `losetup -d /dev/{}`", name, node, name));
  }
  return passes("loop", "no loop device uses it");
}

GuardResult guard_exported(const GuardContext& context) {
  // nvmet opens a namespace's node without claiming it.
  const std::string folder = context.options.sysfs_root + "/kernel/config/nvmet/subsystems";
  const auto subsystems = list_directory(folder);
  if (!subsystems && subsystems.error().code == Errc::not_found) {
    return passes("exported", "the host is not an NVMe target");
  }
  if (!subsystems) return refuses("exported", Errc::refused, subsystems.error().what);
  for (const std::string& subsystem : *subsystems) {
    const std::string inside = folder + "/" + subsystem + "/namespaces";
    const auto namespaces = list_directory(inside);
    if (!namespaces && namespaces.error().code == Errc::not_found) continue;
    if (!namespaces) return refuses("exported", Errc::refused, namespaces.error().what);
    for (const std::string& each : *namespaces) {
      const auto path = read_file(inside + "/" + each + "/device_path", kProcBytesMax);
      if (!path && path.error().code == Errc::not_found) continue;
      if (!path) return refuses("exported", Errc::refused, path.error().what);
      const std::string node = node_of_ours(context.drive, node_behind(context.options, *path));
      if (node.empty()) continue;
      return refuses("exported", Errc::refused,
                     fmt::format("the host exports {} as namespace {} of the NVMe target {}; take "
                                 "it out of nvmet's configuration",
                                 node, each, subsystem));
    }
  }
  return passes("exported", "no NVMe target of the host exports it");
}

GuardResult guard_network(const GuardContext& context) {
  for (const SysInterface& interface : context.drive.interfaces) {
    if (!interface.stacks.empty()) {
      return refuses("network", Errc::refused,
                     fmt::format("its network interface {} is part of {}; take it out of there",
                                 interface.name, fmt::join(interface.stacks, ", ")));
    }
    if (interface.up) {
      return refuses("network", Errc::refused,
                     fmt::format("its network interface {} is up; run `ip link set {} down` if the "
                                 "host does not need it, and keep the host from configuring it",
                                 interface.name, interface.name));
    }
  }
  return passes("network", context.drive.interfaces.empty()
                               ? std::string("it has no network interface")
                               : fmt::format("none of its {} network interfaces is up",
                                             context.drive.interfaces.size()));
}

}  // namespace reclaim::nvme
