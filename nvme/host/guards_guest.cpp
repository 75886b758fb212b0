// Guards on guests: libvirt's domains and processes that hold the drive open.
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "nvme/host/domain_xml.h"
#include "nvme/host/guards.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kDomainBytesMax = 8U << 20U;
constexpr std::size_t kNameBytesMax = 256;

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_ours(const SysDrive& drive, const std::string& node) {
  const auto devices = drive.block_devices();
  return std::any_of(devices.begin(), devices.end(),
                     [&node](const BlockDevice* device) { return device->name == node; });
}

// What a domain has of the drive: "the PCI function", "the disk /dev/…", or "".
std::string what_it_names(const GuardContext& context, const DomainDevices& devices) {
  for (const PciAddress& function : devices.functions) {
    if (function == context.drive.address) return "the PCI function";
  }
  for (const std::string& node : devices.nodes) {
    if (is_ours(context.drive, node_behind(context.options, node))) return node;
  }
  return {};
}

std::optional<GuardResult> look_at_domain(const GuardContext& context, const std::string& path) {
  auto text = read_file(path, kDomainBytesMax);
  // Undefined while we looked: gone is as good as never there.
  if (!text && text.error().code == Errc::not_found) return std::nullopt;
  auto devices = text ? parse_domain(*text) : Result<DomainDevices>(text.error());
  if (!devices) {
    return refuses("libvirt_domain", Errc::refused,
                   fmt::format("{} may name the {} and cannot be read: {}", path, context.thing,
                               devices.error().what));
  }
  const std::string named = what_it_names(context, *devices);
  if (named.empty()) return std::nullopt;
  return refuses("libvirt_domain", Errc::busy,
                 fmt::format("libvirt domain {} names {} ({}); it must be gone first",
                             devices->name, named, path));
}

// What is looked for among the open files of processes. A node may be open under any name: a
// container has nodes of its own, and names in other mount namespaces say nothing.
struct Wanted {
  std::vector<std::string> ends;  // of the link that /proc/PID/fd/N is
  std::vector<DeviceNumber> block;
  std::vector<DeviceNumber> character;

  void add(const CharacterDevice& node) {
    if (node.number) character.push_back(*node.number);
  }
};

// Without asking a file's server for anything: a network filesystem that is away must not hold us.
std::optional<struct statx> look_through(const std::string& descriptor) {
  struct statx info {};
  const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(AT_FDCWD, descriptor.c_str(), flags, STATX_TYPE, &info) != 0) return std::nullopt;
  return info;
}

bool is_wanted(const Wanted& wanted, std::string_view link, const std::string& descriptor) {
  if (std::any_of(wanted.ends.begin(), wanted.ends.end(),
                  [link](const std::string& end) { return link.ends_with(end); })) {
    return true;
  }
  if (link.empty() || link.front() != '/') return false;  // "socket:[4711]"
  // Closed meanwhile, or no file that can be looked at: its name has been.
  const auto info = look_through(descriptor);
  if (!info) return false;
  const DeviceNumber number{info->stx_rdev_major, info->stx_rdev_minor};
  const auto is_one_of = [&number](const std::vector<DeviceNumber>& numbers) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  };
  return (S_ISBLK(info->stx_mode) && is_one_of(wanted.block)) ||
         (S_ISCHR(info->stx_mode) && is_one_of(wanted.character));
}

std::string process_name(const std::string& folder) {
  auto name = read_file(folder + "/comm", kNameBytesMax);
  return name ? *name : "?";
}

struct Holder {
  std::string process;  // "4711 (qemu-system-x86)"
  std::string link;
};

// Looks through every process's descriptors. Errc::failed where a live process does not let us.
Result<std::optional<Holder>> find_holder(const std::string& proc_root, const Wanted& wanted) {
  auto processes = list_directory(proc_root);
  if (!processes) return std::move(processes).error();
  const pid_t self = ::getpid();
  for (const std::string& name : *processes) {
    const auto pid = parse_number<pid_t>(name);
    if (!pid || *pid == self) continue;
    const std::string folder = proc_root + "/" + name;
    const auto files = list_directory(folder + "/fd");
    if (!files) {
      // Ended meanwhile.
      if (files.error().code == Errc::not_found || files.error().raw == ESRCH) continue;
      return Error{Errc::failed,
                   fmt::format("process {} ({}) cannot be looked at: {}; the worker needs "
                               "CAP_SYS_PTRACE",
                               name, process_name(folder), files.error().what)};
    }
    for (const std::string& file : *files) {
      std::array<char, 4096> target{};
      const ssize_t length =
          ::readlink((folder + "/fd/" + file).c_str(), target.data(), target.size());
      if (length < 0 && (errno == ENOENT || errno == ESRCH)) continue;
      if (length < 0) {
        return Error{Errc::failed,
                     fmt::format("descriptor {} of process {} ({}) cannot be looked at: {}", file,
                                 name, process_name(folder), std::strerror(errno))};
      }
      const std::string_view link(target.data(), static_cast<std::size_t>(length));
      if (is_wanted(wanted, link, folder + "/fd/" + file)) {
        return std::optional(
            Holder{fmt::format("{} ({})", name, process_name(folder)), std::string(link)});
      }
    }
  }
  return std::optional<Holder>{};
}

}  // namespace

// Under an injected dev root the path is looked up there.
std::string node_behind(const Options& options, const std::string& path) {
  if (path.rfind("/dev/", 0) != 0) return {};
  const std::string here = options.dev_root + path.substr(4);
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(here.c_str(), nullptr),
                                                         &std::free);
  return base_name(real == nullptr ? path : real.get());
}

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

GuardResult guard_libvirt_domain(const GuardContext& context) {
  std::size_t looked_at = 0;
  for (const std::string& folder : context.options.libvirt_dirs) {
    auto files = list_directory(folder);
    if (!files && files.error().code == Errc::not_found) {
      return refuses(
          "libvirt_domain", Errc::refused,
          fmt::format("{} does not exist, so that whether a domain names the {} cannot be "
                      "known: start libvirt, name in [reclaim] libvirt_dirs where it keeps its "
                      "domains (in a container's volumes, perhaps), or say none there",
                      folder, context.thing));
    }
    if (!files) {
      return refuses("libvirt_domain", Errc::refused,
                     fmt::format("{}; whether a domain names the {} cannot be known",
                                 files.error().what, context.thing));
    }
    for (const std::string& file : *files) {
      if (!file.ends_with(".xml")) continue;
      if (auto found = look_at_domain(context, folder + "/" + file)) return *std::move(found);
      ++looked_at;
    }
  }
  if (context.options.libvirt_dirs.empty()) {
    return passes("libvirt_domain", "libvirt_dirs = none: there is no libvirt on this host");
  }
  return passes("libvirt_domain", fmt::format("none of {} domains names it", looked_at));
}

GuardResult guard_vfio_open(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  // Of links only the end is compared: QEMU opens its nodes in a mount namespace of its own.
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
  const auto holder = find_holder(context.options.proc_root, wanted);
  if (!holder) return refuses("vfio_open", Errc::refused, holder.error().what);
  if (*holder) {
    return refuses("vfio_open", Errc::busy,
                   fmt::format("process {} holds {}; a guest still has the {}", (*holder)->process,
                               (*holder)->link, context.thing));
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
  const auto holder = find_holder(context.options.proc_root, wanted);
  if (!holder) return refuses("node_open", Errc::refused, holder.error().what);
  if (*holder) {
    return refuses("node_open", Errc::busy,
                   fmt::format("process {} has {} open", (*holder)->process, (*holder)->link));
  }
  return passes("node_open",
                fmt::format("no process has any of {} nodes open", wanted.ends.size()));
}

}  // namespace reclaim::nvme
