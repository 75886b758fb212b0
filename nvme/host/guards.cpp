// The order of the guards, and those on the PCI function and on the opened controller.
#include "nvme/host/guards.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nvme/host/driver_binding.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kNvmeClass = 0x0108;  // the programming interface, the last byte, may vary
// Identify Controller, CMIC: more than one port, more than one controller, an SR-IOV function.
constexpr unsigned kCmicShared = 0x07;

}  // namespace

GuardResult passes(std::string_view guard, std::string detail) {
  return GuardResult{GuardFinding{std::string(guard), true, std::move(detail)}, Errc::refused};
}

GuardResult refuses(std::string_view guard, Errc code, std::string detail) {
  return GuardResult{GuardFinding{std::string(guard), false, std::move(detail)}, code};
}

Error refusal(const GuardResult& result) {
  CHECK(!result.finding.passed);
  return Error{result.code,
               fmt::format("guard {}: {}", result.finding.guard, result.finding.detail)};
}

GuardResult guard_pci_class(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  if (drive.class_code >> 8U == kNvmeClass) {
    return passes("pci_class", fmt::format("class {:#08x} is NVMe", drive.class_code));
  }
  return refuses("pci_class", Errc::refused,
                 fmt::format("{} is of class {:#08x}, no NVMe controller (0x0108xx)",
                             to_string(drive.address), drive.class_code));
}

GuardResult guard_pci_ids(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  const std::string by_ids =
      fmt::format("CUSTOM_PCI_{:04X}_{:04X}", drive.vendor_id, drive.device_id);
  const std::string& wanted = context.request.resource_class_override.value_or(by_ids);
  if (context.request.resource_class == wanted) {
    return passes("pci_ids", fmt::format("{:04x}:{:04x} is {}", drive.vendor_id, drive.device_id,
                                         context.request.resource_class));
  }
  return refuses(
      "pci_ids", Errc::refused,
      fmt::format("the provider is of resource class {}, but the device there is {:04x}:{:04x}, "
                  "which would be {}; Placement and the host speak of different devices",
                  context.request.resource_class, drive.vendor_id, drive.device_id, wanted));
}

GuardResult guard_sriov(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  if (drive.is_virtual_function) {
    return refuses("sriov", Errc::refused,
                   fmt::format("{} is a virtual function; its {} is shared with others",
                               to_string(drive.address), context.thing));
  }
  if (drive.sriov_vfs_enabled != 0) {
    return refuses(
        "sriov", Errc::refused,
        fmt::format("{} virtual functions are enabled and may be in use; write 0 to "
                    "{}/bus/pci/devices/{}/sriov_numvfs when they are free",
                    drive.sriov_vfs_enabled, context.options.sysfs_root, to_string(drive.address)));
  }
  return passes("sriov", "no virtual functions are enabled");
}

GuardResult guard_iommu_group(const GuardContext& context) {
  if (!context.to_take_over) return passes("iommu_group", "it is bound to the host's driver");
  const SysDrive& drive = context.drive;
  if (drive.iommu_group < 0) {
    return refuses("iommu_group", Errc::refused,
                   "it has no IOMMU group, so there is no vfio group to hold while its driver "
                   "changes; enable the IOMMU (intel_iommu=on, amd_iommu=on)");
  }
  const std::string folder = fmt::format("{}/bus/pci/devices/{}/iommu_group/devices",
                                         context.options.sysfs_root, to_string(drive.address));
  const auto names = list_directory(folder);
  if (!names) return refuses("iommu_group", Errc::refused, names.error().what);
  for (const std::string& name : *names) {
    const auto address = parse_pci_address(name);
    if (address && *address == drive.address) continue;
    const auto other = address ? read_drive(context.options.sysfs_root, *address)
                               : Result<SysDrive>(address.error());
    if (!other) return refuses("iommu_group", Errc::refused, other.error().what);
    if (other->driver.empty() || other->driver == "pcieport" || other->driver == "pci-stub" ||
        on_vfio(*other)) {
      continue;
    }
    return refuses("iommu_group", Errc::refused,
                   fmt::format("{} is in the same IOMMU group {} and bound to {}: what the host "
                               "uses shares its isolation with the drive; bind it to vfio-pci, or "
                               "put the drive into another slot",
                               name, drive.iommu_group, other->driver));
  }
  return passes("iommu_group", fmt::format("none of the {} functions of IOMMU group {} is the "
                                           "host's",
                                           names->size(), drive.iommu_group));
}

namespace {

// Guards the driver of an unmanaged drive before it is taken over.
GuardResult guard_former_driver(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  if (on_vfio(drive)) return passes("driver", fmt::format("bound to {}", drive.driver));
  if (drive.driver.empty() || drive.driver == "nvme") {
    const auto left = read_former_driver(context.options, drive.address);
    if (!left) return refuses("driver", Errc::failed, left.error().what);
    if (*left) {
      return passes("driver",
                    fmt::format("an earlier worker took it over from {}", (*left)->driver));
    }
  }
  if (drive.driver.empty()) {
    return refuses("driver", Errc::busy, "no driver is bound; waiting for vfio-pci or a variant");
  }
  return refuses("driver", Errc::failed,
                 fmt::format("bound to {}, though its device_spec says managed=no: bind it to "
                             "vfio-pci or its vfio driver (driverctl set-override), or say "
                             "managed=yes",
                             drive.driver));
}

}  // namespace

GuardResult guard_driver(const GuardContext& context) {
  if (context.to_take_over) return guard_former_driver(context);
  const std::string& driver = context.drive.driver;
  if (driver == "nvme") return passes("driver", "bound to nvme");
  return refuses("driver", Errc::busy,
                 driver.empty()
                     ? std::string("no driver is bound; waiting for nvme")
                     : fmt::format("bound to {}; waiting for libvirt to give it back to nvme (a "
                                   "device_spec with managed=no never does)",
                                   driver));
}

GuardResult guard_live(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  if (context.to_take_over) return passes("live", "it comes up once it is taken over");
  if (drive.controller.empty()) {
    return refuses("live", Errc::busy,
                   "the nvme driver has no controller for it yet; see the kernel's log if this "
                   "lasts");
  }
  if (drive.controller_state == "live") {
    return passes("live", fmt::format("{} is live", drive.controller));
  }
  return refuses("live", Errc::busy,
                 fmt::format("{} is {}, not live; see the kernel's log if this lasts",
                             drive.controller, drive.controller_state));
}

GuardResult guard_subsystem_peers(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  if (drive.controller.empty()) {
    return passes("subsystem_peers", "the nvme driver has no controller for it");
  }
  const auto peers = subsystem_peers(context.options.sysfs_root, drive);
  if (!peers) return refuses("subsystem_peers", Errc::refused, peers.error().what);
  if (peers->empty()) {
    return passes("subsystem_peers", "no second controller of its subsystem is visible");
  }
  return refuses("subsystem_peers", Errc::refused,
                 fmt::format("{} belongs to the same subsystem ({}) as {}; a sanitize would erase "
                             "what is seen through it too",
                             fmt::join(*peers, ", "), drive.subsystem_nqn, drive.controller));
}

GuardResult guard_serial(const GuardContext& context, const Identity& opened) {
  const SysDrive& drive = context.drive;
  if (opened.serial != drive.serial) {
    return refuses("serial", Errc::failed,
                   fmt::format("the opened controller says serial {}, sysfs says {}; the drive was "
                               "changed under the kernel: remove and rescan {}",
                               opened.serial, drive.serial, to_string(drive.address)));
  }
  const std::string& expected = context.request.expected_serial;
  if (!expected.empty() && opened.serial != expected) {
    return refuses("serial", Errc::failed,
                   fmt::format("serial changed: was {}, is {}; enrol the new drive with `reclaim "
                               "device set {} --enrol`",
                               expected, opened.serial, to_string(drive.address)));
  }
  return passes("serial", fmt::format("serial {}{}", opened.serial,
                                      expected.empty() ? ", none recorded yet" : " as recorded"));
}

GuardResult guard_shared_subsystem(const GuardContext& context, const Identity& opened) {
  if ((opened.cmic & kCmicShared) == 0) {
    return passes("shared_subsystem", "the subsystem has this one controller");
  }
  if (context.request.shared_subsystem_allowed) {
    return passes(
        "shared_subsystem",
        fmt::format("CMIC {:#04x}; device_spec says shared_subsystem = allow", opened.cmic));
  }
  return refuses("shared_subsystem", Errc::refused,
                 fmt::format("the drive can be reached through more controllers than this one "
                             "(CMIC {:#04x}), perhaps by another host; if none is connected, say "
                             "shared_subsystem = allow in its device_spec",
                             opened.cmic));
}

const std::vector<Guard>& guards_before_opening() {
  static const std::vector<Guard> kGuards = {
      guard_pci_class,      guard_pci_ids,         guard_sriov,       guard_process_view,
      guard_libvirt_domain, guard_vfio_open,       guard_iommu_group, guard_driver,
      guard_live,           guard_own_disk,        guard_holders,     guard_mounted,
      guard_swap,           guard_btrfs_member,    guard_loop,        guard_exported,
      guard_node_open,      guard_subsystem_peers,
  };
  return kGuards;
}

const std::vector<Guard>& guards_before_command() {
  static const std::vector<Guard> kGuards = {
      guard_pci_class,       guard_pci_ids,   guard_sriov,    guard_process_view,
      guard_libvirt_domain,  guard_vfio_open, guard_driver,   guard_live,
      guard_own_disk,        guard_holders,   guard_mounted,  guard_swap,
      guard_btrfs_member,    guard_loop,      guard_exported, guard_node_open,
      guard_subsystem_peers,
  };
  return kGuards;
}

const std::vector<Guard>& guards_on_host_use() {
  static const std::vector<Guard> kGuards = {
      guard_process_view, guard_own_disk, guard_holders,  guard_mounted, guard_swap,
      guard_btrfs_member, guard_loop,     guard_exported, guard_network, guard_node_open,
  };
  return kGuards;
}

std::vector<GuardResult> look_at(const std::vector<Guard>& guards, const GuardContext& context,
                                 bool all) {
  std::vector<GuardResult> results;
  for (const Guard guard : guards) {
    results.push_back(guard(context));
    results.back().by = guard;
    if (!all && !results.back().finding.passed) break;
  }
  return results;
}

}  // namespace reclaim::nvme
