#include "nvme/host/signatures.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "nvme/controller/admin_state.h"
#include "nvme/host/nodes.h"
#include "nvme/host/sysfs.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

// libblkid looks at the first and the last of a disk; the rest is where a table points to.
constexpr std::uint64_t kEdgeBytes = 2'097'152;
constexpr int kProbesMax = 256;  // of one disk; there are some eighty kinds of signature

struct FreeProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using Probe = std::unique_ptr<std::remove_pointer_t<blkid_probe>, FreeProbe>;

Error unreadable(const std::string& name, std::string_view why, int number = 0) {
  return Error{Errc::refused, fmt::format("{} cannot be searched for signatures: {}", name, why),
               number};
}

// True if the first, the middle and the last of the disk are blank. Newer libblkids take reads that
// fail on a drive with locked ranges for places where nothing is, and none reads all of the edges.
Result<bool> read_places(int fd, const SysNamespace& ns) {
  const std::uint64_t length = std::min<std::uint64_t>(kEdgeBytes, ns.capacity_bytes);
  AlignedBuffer buffer(static_cast<std::size_t>(length));
  const std::uint64_t middle = ns.capacity_bytes / 2 / kEdgeBytes * kEdgeBytes;
  bool blank = true;
  for (const std::uint64_t offset : {std::uint64_t{0}, middle, ns.capacity_bytes - length}) {
    const auto read =
        read_place(fd, Place{ns.nsid, offset, static_cast<std::uint32_t>(length)}, buffer);
    if (!read) return unreadable(ns.disk.name, read.error().what, read.error().raw);
    blank = blank && is_uniform(*read);
  }
  return blank;
}

void add(std::vector<std::string>& found, std::string line) {
  if (std::find(found.begin(), found.end(), line) == found.end()) found.push_back(std::move(line));
}

Status probe_disk(int fd, const std::string& name, std::vector<std::string>& found) {
  const Probe probe(blkid_new_probe());
  if (probe == nullptr) return unreadable(name, "libblkid has no memory");
  if (blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) {
    return unreadable(name, std::strerror(errno), errno);
  }
  // A damaged superblock or a table without its protective MBR is somebody's data all the same.
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_BADCSUM);
  blkid_probe_enable_partitions(probe.get(), 1);
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_FORCE_GPT);
  for (int probes = 0; probes < kProbesMax; ++probes) {
    errno = 0;
    const int rc = blkid_do_probe(probe.get());
    if (rc == 1) return Ok{};
    if (rc != 0) return unreadable(name, errno != 0 ? std::strerror(errno) : "libblkid failed");
    const char* value = nullptr;
    if (blkid_probe_lookup_value(probe.get(), "TYPE", &value, nullptr) == 0) {
      add(found, fmt::format("{}: {}", name, value));
    }
    if (blkid_probe_lookup_value(probe.get(), "PTTYPE", &value, nullptr) == 0) {
      add(found, fmt::format("{}: {} partition table", name, value));
    }
  }
  return unreadable(name, fmt::format("more than {} signatures", kProbesMax));
}

Status look_at_disk(const Options& options, const SysNamespace& ns, Edges edges,
                    std::vector<std::string>& found) {
  const std::string path = options.dev_root + "/" + ns.disk.name;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    const bool passing = errno == ENOENT || errno == ENXIO || errno == ENODEV;
    return Error{passing ? Errc::busy : Errc::refused,
                 fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno};
  }
  if (auto disk = check_disk(fd.get(), path, ns); !disk) return disk;
  // The kernel's cache may be of the past by now; to drop it costs nobody anything.
  static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED));
  const auto blank = read_places(fd.get(), ns);
  if (!blank) return edges == Edges::may_be_barred ? Status(Ok{}) : Status(blank.error());
  const std::size_t before = found.size();
  if (auto probed = probe_disk(fd.get(), ns.disk.name, found); !probed) return probed;
  if (edges == Edges::have_to_be_blank && !*blank && found.size() == before) {
    add(found, ns.disk.name + ": data without a signature");
  }
  return Ok{};
}

// Every namespace that exists must be one whose media the kernel shows whole.
Status check_namespaces(const SysDrive& sys, const ControllerState& layout) {
  for (const NamespaceState& ns : layout.namespaces) {
    if (!ns.active) {
      return unreadable(fmt::format("namespace {}", ns.nsid),
                        "it is detached; attach or delete it");
    }
    const auto shown = std::find_if(sys.namespaces.begin(), sys.namespaces.end(),
                                    [&](const SysNamespace& each) { return each.nsid == ns.nsid; });
    if (shown == sys.namespaces.end()) {
      return Error{Errc::busy, fmt::format("namespace {} has no disk yet", ns.nsid)};
    }
    if (shown->capacity_bytes == 0 || shown->capacity_bytes != ns.bytes()) {
      return unreadable(
          shown->disk.name,
          fmt::format("the kernel shows {} bytes of {}; it makes no disk of this format",
                      shown->capacity_bytes, ns.bytes()));
    }
  }
  for (const SysNamespace& shown : sys.namespaces) {
    const bool listed =
        std::any_of(layout.namespaces.begin(), layout.namespaces.end(),
                    [&](const NamespaceState& ns) { return ns.nsid == shown.nsid; });
    if (!listed) {
      return Error{Errc::busy,
                   fmt::format("{} is not a namespace of the drive's any more", shown.disk.name)};
    }
  }
  return Ok{};
}

}  // namespace

Result<std::vector<std::string>> find_signatures(const Options& options, const PciAddress& address,
                                                 const StopFlag& stop, Edges edges) {
  const auto sys = read_drive(options.sysfs_root, address);
  if (!sys) return sys.error();
  if (sys->driver != "nvme" || sys->controller_state != "live") {
    return Error{
        Errc::busy,
        fmt::format("the media of {} can be looked at while nvme is its driver and it is "
                    "live; its driver is {}, {}",
                    to_string(address), sys->driver.empty() ? "none" : sys->driver,
                    sys->controller.empty() ? "without a controller"
                                            : sys->controller + " is " + sys->controller_state)};
  }
  const auto controller = open_controller_node(options, *sys);
  if (!controller) return controller.error();
  const auto layout = read_namespace_layout(controller->get(), options.admin_timeout_ms);
  if (!layout) return layout.error();
  if (auto complete = check_namespaces(*sys, *layout); !complete) {
    return std::move(complete).error();
  }
  std::vector<std::string> found;
  for (const SysNamespace& ns : sys->namespaces) {
    if (stop.requested()) return Error{Errc::cancelled, "stopped while looking for signatures"};
    if (auto looked = look_at_disk(options, ns, edges, found); !looked) {
      return std::move(looked).error();
    }
  }
  for (const BlockDevice* device : sys->block_devices()) {
    for (const std::string& holder : device->holders) {
      add(found, fmt::format("{}: held by {}", device->name, holder));
    }
  }
  return found;
}

}  // namespace reclaim::nvme
