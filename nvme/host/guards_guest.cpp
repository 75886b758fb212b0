// Guards on guests: libvirt's domains and processes that hold the drive open.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "nvme/host/guards.h"
#include "nvme/host/host_look.h"

namespace reclaim::nvme {
namespace {

bool is_ours(const SysDrive& drive, const std::string& node) {
  const auto devices = drive.block_devices();
  return std::any_of(devices.begin(), devices.end(),
                     [&node](const BlockDevice* device) { return device->name == node; });
}

// Says what a domain has of the drive: "the PCI function", "the disk /dev/…", or "".
std::string what_it_names(const SysDrive& drive, const Domain& domain) {
  for (const PciAddress& function : domain.devices->functions) {
    if (function == drive.address) return "the PCI function";
  }
  for (std::size_t i = 0; i < domain.nodes.size(); ++i) {
    if (is_ours(drive, domain.nodes[i])) return domain.devices->nodes[i];
  }
  return {};
}

GuardResult unreadable(const GuardContext& context, const Domain& domain) {
  return refuses("libvirt_domain", Errc::refused,
                 fmt::format("{} may name the {} and cannot be read: {}", domain.path,
                             context.thing, domain.devices.error().what));
}

GuardResult unlisted(const GuardContext& context, const DomainFolder& folder) {
  if (folder.error->code == Errc::not_found) {
    return refuses("libvirt_domain", Errc::refused,
                   fmt::format("{} does not exist, so that whether a domain names the {} cannot be "
                               "known: start libvirt, name in [reclaim] libvirt_dirs where it "
                               "keeps its domains (in a container's volumes, perhaps), or say none "
                               "there",
                               folder.path, context.thing));
  }
  return refuses("libvirt_domain", Errc::refused,
                 fmt::format("{}; whether a domain names the {} cannot be known",
                             folder.error->what, context.thing));
}

// The nodes that are looked for among the open files of processes.
struct Wanted {
  std::vector<std::string> ends;  // of their links
  std::vector<DeviceNumber> block;
  std::vector<DeviceNumber> character;

  void add(const CharacterDevice& node) {
    if (node.number) character.push_back(*node.number);
  }
  [[nodiscard]] bool has(const OpenFile& file) const {
    const auto is_among = [](const auto& numbers, const std::optional<DeviceNumber>& number) {
      return number && std::find(numbers.begin(), numbers.end(), *number) != numbers.end();
    };
    return is_among(block, file.block) || is_among(character, file.character) ||
           std::any_of(ends.begin(), ends.end(),
                       [&file](const std::string& end) { return file.link.ends_with(end); });
  }
};

// Null: nobody has any of them. An error where a live process does not let us look, and no other
// has one.
Result<const OpenFile*> find_holder(const GuardContext& context, const Wanted& wanted) {
  const OpenFiles& open = context.host->open_files(context.options);
  const auto holder = std::find_if(open.files.begin(), open.files.end(),
                                   [&wanted](const OpenFile& file) { return wanted.has(file); });
  if (holder != open.files.end()) return &*holder;
  if (open.error) return *open.error;
  return nullptr;
}

}  // namespace

GuardResult guard_process_view(const GuardContext& context) {
  // PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h.
  constexpr std::string_view kInitialNamespace = "pid:[4026531836]";
  const std::string path = context.options.proc_root + "/1/ns/pid";
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) {
    return refuses("process_view", Errc::refused,
                   fmt::format("whether all processes of the host are seen cannot be known: {}: {}",
                               path, std::strerror(errno)));
  }
  const std::string_view found(target.data(), static_cast<std::size_t>(length));
  if (found != kInitialNamespace) {
    return refuses("process_view", Errc::refused,
                   fmt::format("{} is {}, not the host's: processes outside of this container "
                               "may hold the {}; run it with the host's PID namespace, or name "
                               "the host's /proc in [reclaim] proc_root",
                               path, found, context.thing));
  }
  return passes("process_view", "all processes of the host are seen");
}

// A domain that names it is told of though another cannot be read.
GuardResult guard_libvirt_domain(const GuardContext& context) {
  std::size_t looked_at = 0;
  std::optional<GuardResult> unknown;
  for (const DomainFolder& folder : context.host->domains(context.options)) {
    if (folder.error && !unknown) unknown = unlisted(context, folder);
    for (const Domain& domain : folder.domains) {
      if (!domain.devices) {
        if (!unknown) unknown = unreadable(context, domain);
        continue;
      }
      const std::string named = what_it_names(context.drive, domain);
      if (!named.empty()) {
        return refuses("libvirt_domain", Errc::busy,
                       fmt::format("libvirt domain {} names {} ({}); it must be gone first",
                                   domain.devices->name, named, domain.path));
      }
      ++looked_at;
    }
  }
  if (unknown) return *std::move(unknown);
  if (context.options.libvirt_dirs.empty()) {
    return passes("libvirt_domain", "libvirt_dirs = none: there is no libvirt on this host");
  }
  return passes("libvirt_domain", fmt::format("none of {} domains names it", looked_at));
}

GuardResult guard_vfio_open(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  // Only the end of a link is compared: QEMU opens its nodes in a mount namespace of its own.
  Wanted wanted;
  if (drive.iommu_group >= 0) {
    wanted.ends.push_back(fmt::format("/vfio/{}", drive.iommu_group));
    wanted.ends.push_back(fmt::format("/vfio/noiommu-{}", drive.iommu_group));
  }
  for (const CharacterDevice& group : drive.vfio_groups) wanted.add(group);
  for (const CharacterDevice& cdev : drive.vfio_devices) {
    wanted.ends.push_back("/vfio/devices/" + cdev.name);
    wanted.add(cdev);
  }
  if (wanted.ends.empty()) return passes("vfio_open", "it has no vfio group or device");
  const auto holder = find_holder(context, wanted);
  if (!holder) return refuses("vfio_open", Errc::refused, holder.error().what);
  if (*holder) {
    return refuses("vfio_open", Errc::busy,
                   fmt::format("process {} holds {}; a guest still has the {}",
                               name_of_process(context.options, (*holder)->pid), (*holder)->link,
                               context.thing));
  }
  return passes("vfio_open", fmt::format("no process holds {}", fmt::join(wanted.ends, ", ")));
}

GuardResult guard_node_open(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  const std::string dev = context.options.dev_root + "/";
  Wanted wanted;
  for (const BlockDevice* device : drive.block_devices()) {
    wanted.ends.push_back(dev + device->name);
    wanted.block.push_back(device->number);
  }
  // Commands to the controller's node, and io_uring's to the generic ones, pass the claim on the
  // block nodes by.
  for (const CharacterDevice& node : drive.generic_nodes) {
    wanted.ends.push_back(dev + node.name);
    wanted.add(node);
  }
  if (!drive.controller.empty()) {
    wanted.ends.push_back(dev + drive.controller);
    wanted.character.push_back(drive.controller_number);
  }
  if (wanted.ends.empty()) return passes("node_open", "it has no nodes");
  const auto holder = find_holder(context, wanted);
  if (!holder) return refuses("node_open", Errc::refused, holder.error().what);
  if (*holder) {
    return refuses("node_open", Errc::busy,
                   fmt::format("process {} has {} open",
                               name_of_process(context.options, (*holder)->pid), (*holder)->link));
  }
  return passes("node_open",
                fmt::format("no process has any of {} nodes open", wanted.ends.size()));
}

}  // namespace reclaim::nvme
