// Guards on guests: libvirt's domains and processes that hold the drive open.
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <optional>

#include "nvme/domain_xml.h"
#include "nvme/guards.h"

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
    return refuses(
        "libvirt_domain", Errc::refused,
        fmt::format("{} may name the drive and cannot be read: {}", path, devices.error().what));
  }
  const std::string named = what_it_names(context, *devices);
  if (named.empty()) return std::nullopt;
  return refuses("libvirt_domain", Errc::busy,
                 fmt::format("libvirt domain {} names {} ({}); it must be gone first",
                             devices->name, named, path));
}

// One open file of a process: what /proc/PID/fd/N leads to.
using Wanted = std::function<bool(std::string_view link)>;

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
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size() || pid == self) continue;
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
      if (wanted(link)) {
        return std::optional(
            Holder{fmt::format("{} ({})", name, process_name(folder)), std::string(link)});
      }
    }
  }
  return std::optional<Holder>{};
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
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

GuardResult guard_libvirt_domain(const GuardContext& context) {
  std::size_t looked_at = 0;
  for (const std::string& folder : context.options.libvirt_dirs) {
    auto files = list_directory(folder);
    if (!files && files.error().code == Errc::not_found) continue;
    if (!files) {
      return refuses(
          "libvirt_domain", Errc::refused,
          fmt::format("{}; whether a domain names the drive cannot be known", files.error().what));
    }
    for (const std::string& file : *files) {
      if (!ends_with(file, ".xml")) continue;
      if (auto found = look_at_domain(context, folder + "/" + file)) return *std::move(found);
      ++looked_at;
    }
  }
  return passes("libvirt_domain", fmt::format("none of {} domains names it", looked_at));
}

GuardResult guard_vfio_open(const GuardContext& context) {
  const SysDrive& drive = context.drive;
  // Only the end of the link is compared: QEMU opens its nodes in a mount namespace of its own.
  std::vector<std::string> ends;
  if (drive.iommu_group >= 0) {
    ends.push_back(fmt::format("/vfio/{}", drive.iommu_group));
    ends.push_back(fmt::format("/vfio/noiommu-{}", drive.iommu_group));
  }
  for (const std::string& cdev : drive.vfio_devices) ends.push_back("/vfio/devices/" + cdev);
  if (ends.empty()) return passes("vfio_open", "it has no vfio group or device");
  const auto holder = find_holder(context.options.proc_root, [&ends](std::string_view link) {
    return std::any_of(ends.begin(), ends.end(),
                       [link](const std::string& end) { return ends_with(link, end); });
  });
  if (!holder) return refuses("vfio_open", Errc::refused, holder.error().what);
  if (*holder) {
    return refuses("vfio_open", Errc::busy,
                   fmt::format("process {} holds {}; a guest still has the drive",
                               (*holder)->process, (*holder)->link));
  }
  return passes("vfio_open", fmt::format("no process holds {}", fmt::join(ends, ", ")));
}

GuardResult guard_node_open(const GuardContext& context) {
  std::vector<std::string> nodes;
  for (const BlockDevice* device : context.drive.block_devices()) {
    nodes.push_back(context.options.dev_root + "/" + device->name);
  }
  // Commands to the controller's node, and io_uring's to the generic ones, pass the claim on the
  // block nodes by.
  for (const std::string& name : context.drive.generic_nodes) {
    nodes.push_back(context.options.dev_root + "/" + name);
  }
  if (!context.drive.controller.empty()) {
    nodes.push_back(context.options.dev_root + "/" + context.drive.controller);
  }
  if (nodes.empty()) return passes("node_open", "it has no nodes");
  const auto holder = find_holder(context.options.proc_root, [&nodes](std::string_view link) {
    return std::find(nodes.begin(), nodes.end(), link) != nodes.end();
  });
  if (!holder) return refuses("node_open", Errc::refused, holder.error().what);
  if (*holder) {
    return refuses("node_open", Errc::busy,
                   fmt::format("process {} has {} open", (*holder)->process, (*holder)->link));
  }
  return passes("node_open", fmt::format("no process has any of {} nodes open", nodes.size()));
}

}  // namespace reclaim::nvme
