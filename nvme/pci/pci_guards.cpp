#include "nvme/pci/pci_guards.h"

#include <fmt/core.h>

#include <array>

#include "nvme/host/driver_binding.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint32_t kNvmeClass = 0x0108;
constexpr std::uint32_t kBridgeClass = 0x06;
constexpr std::string_view kThing = "device";

struct PciGuardContext {
  const PciClaimRequest& request;
  const std::string& meanwhile;
  const GuardContext& base;
};

GuardResult guard_other_class(const PciGuardContext& context) {
  const SysDrive& function = context.base.drive;
  if (function.class_code >> 8U == kNvmeClass) {
    return refuses("pci_class", Errc::refused,
                   fmt::format("{} is an NVMe drive: name it in [nvme] device_spec",
                               to_string(function.address)));
  }
  if (function.class_code >> 16U == kBridgeClass) {
    return refuses("pci_class", Errc::refused,
                   fmt::format("{} is a bridge (class {:#08x}): what is behind it is the host's",
                               to_string(function.address), function.class_code));
  }
  return passes("pci_class", fmt::format("class {:#08x}", function.class_code));
}

GuardResult guard_hardware(const PciGuardContext& context) {
  const HardwareIdentity& found = context.base.drive.hardware;
  if (compare(context.request.expected, found) != Match::different) {
    return passes("hardware",
                  context.request.expected.empty() ? "none recorded yet" : encode_hardware(found));
  }
  return refuses("hardware", Errc::failed,
                 fmt::format("the device changed: was {}, is {}; enrol the new one with `reclaim "
                             "device set {} --enrol`",
                             encode_hardware(context.request.expected), encode_hardware(found),
                             to_string(context.request.address)));
}

// A guest has all functions of an IOMMU group, or none: one that it has of ours is in its reach.
GuardResult guard_group_guests(const PciGuardContext& context) {
  const SysDrive& function = context.base.drive;
  if (function.iommu_group < 0) return passes("iommu_group", "it has none");
  const Options& options = context.base.options;
  const auto names = list_directory(fmt::format("{}/bus/pci/devices/{}/iommu_group/devices",
                                                options.sysfs_root, to_string(function.address)));
  if (!names) return refuses("iommu_group", Errc::refused, names.error().what);
  for (const std::string& name : *names) {
    const auto address = parse_pci_address(name);
    if (address && *address == function.address) continue;
    const auto other =
        address ? read_drive(options.sysfs_root, *address) : Result<SysDrive>(address.error());
    if (!other) return refuses("iommu_group", Errc::refused, other.error().what);
    const GuardContext neighbour{options, context.base.request, *other, false,
                                 kThing,  context.base.host};
    for (const Guard guard : {guard_libvirt_domain, guard_vfio_open}) {
      const GuardResult seen = guard(neighbour);
      if (seen.finding.passed) continue;
      return refuses("iommu_group", seen.code,
                     fmt::format("{} is in the same IOMMU group {}: {}", name, function.iommu_group,
                                 seen.finding.detail));
    }
  }
  return passes("iommu_group", fmt::format("no guest has any of the {} functions of group {}",
                                           names->size(), function.iommu_group));
}

GuardResult guard_accepted_driver(const PciGuardContext& context) {
  const SysDrive& function = context.base.drive;
  const std::string& driver = function.driver;
  if (driver.empty()) return passes("driver", "no driver is bound");
  if (on_vfio(function) || driver == context.request.driver || driver == context.meanwhile) {
    return passes("driver", fmt::format("bound to {}", driver));
  }
  return refuses("driver", Errc::failed,
                 fmt::format("bound to {}, which serves the host: bind it to vfio-pci (driverctl "
                             "set-override), or name driver = {} in its device_spec",
                             driver, driver));
}

using PciGuard = GuardResult (*)(const PciGuardContext&);

// A guard that holds for drives and others alike.
template <Guard guard>
GuardResult shared(const PciGuardContext& context) {
  return guard(context.base);
}

// A guard, and which one it is among those of drives; nullptr: it is of this room.
struct Row {
  PciGuard look;
  Guard by;
};

// Cheap and decisive first.
constexpr std::array kGuards = {
    Row{guard_other_class, nullptr},
    Row{shared<guard_pci_ids>, guard_pci_ids},
    Row{guard_hardware, nullptr},
    Row{shared<guard_sriov>, guard_sriov},
    Row{shared<guard_process_view>, guard_process_view},
    Row{shared<guard_libvirt_domain>, guard_libvirt_domain},
    Row{shared<guard_vfio_open>, guard_vfio_open},
    Row{guard_group_guests, nullptr},
    Row{guard_accepted_driver, nullptr},
    Row{shared<guard_network>, guard_network},
    Row{shared<guard_own_disk>, guard_own_disk},
    Row{shared<guard_holders>, guard_holders},
    Row{shared<guard_mounted>, guard_mounted},
    Row{shared<guard_swap>, guard_swap},
    Row{shared<guard_btrfs_member>, guard_btrfs_member},
    Row{shared<guard_loop>, guard_loop},
    Row{shared<guard_exported>, guard_exported},
    Row{shared<guard_node_open>, guard_node_open},
};

}  // namespace

std::vector<GuardResult> look_at_function(const Options& options, const PciClaimRequest& request,
                                          const SysDrive& function, bool all,
                                          const std::string& meanwhile) {
  ClaimRequest plain;
  plain.address = request.address;
  plain.resource_class = request.resource_class;
  plain.resource_class_override = request.resource_class_override;
  const GuardContext base{options, plain, function, false, kThing};
  const PciGuardContext context{request, meanwhile, base};
  std::vector<GuardResult> results;
  for (const Row& row : kGuards) {
    results.push_back(row.look(context));
    results.back().by = row.by;
    if (!all && !results.back().finding.passed) break;
  }
  return results;
}

}  // namespace reclaim::nvme
