#include "nvme/host/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "state/base/text.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kAttributeBytesMax = 4096;  // sysfs gives one page at most
constexpr std::size_t kFirstReadBytes = 8'192;
constexpr std::size_t kDirectoryEntriesMax = 65'536;
constexpr std::uint32_t kNetworkClass = 0x02;
constexpr std::size_t kMacCharacters = 17;
constexpr std::uint32_t kNvmeClass = 0x0108;  // mass storage, non-volatile memory controller
constexpr int kStackDepthMax = 16;
constexpr std::size_t kConfigBytesMax = 4096;  // of an unprivileged reader's, the kernel shows 64

Error io_error(std::string_view what, const std::string& path, int number) {
  return Error{number == ENOENT || number == ENOTDIR ? Errc::not_found : Errc::failed,
               fmt::format("cannot {} {}: {}", what, path, std::strerror(number)), number};
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

template <typename Number>
Result<Number> read_number(const std::string& path) {
  auto text = read_file(path, kAttributeBytesMax);
  if (!text) return std::move(text).error();
  const auto number =
      text->starts_with("0x") ? parse_hex<Number>(*text) : parse_number<Number>(*text);
  if (!number) {
    return Error{Errc::failed, fmt::format("{} says '{}', which is not a number of {} bits", path,
                                           text->substr(0, 64), sizeof(Number) * 8)};
  }
  return *number;
}

Result<std::string> read_optional(const std::string& path) {
  auto text = read_file(path, kAttributeBytesMax);
  if (!text && text.error().code == Errc::not_found) return std::string();
  return text;
}

// "nvme0", "nvme0n1", "nvme0c1n1": the numbers of a name made of these letters, or nothing.
std::optional<std::vector<unsigned>> numbers_of(std::string_view name, std::string_view letters,
                                                std::string_view front = "nvme") {
  if (name.substr(0, front.size()) != front) return std::nullopt;
  name.remove_prefix(front.size());
  std::vector<unsigned> numbers;
  for (std::size_t i = 0; i <= letters.size(); ++i) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{}) return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    numbers.push_back(number);
    if (i == letters.size()) break;
    if (name.empty() || name.front() != letters[i]) return std::nullopt;
    name.remove_prefix(1);
  }
  if (!name.empty()) return std::nullopt;
  return numbers;
}

Result<SysNamespace> read_namespace(const std::string& sysfs_root, const std::string& node) {
  const std::string folder = sysfs_root + "/class/block/" + node;
  SysNamespace found;
  auto disk = read_block(folder, node);
  if (!disk) return std::move(disk).error();
  found.disk = *std::move(disk);
  auto nsid = read_number<std::uint32_t>(folder + "/nsid");
  if (!nsid) return std::move(nsid).error();
  found.nsid = *nsid;
  auto sectors = read_number<std::uint64_t>(folder + "/size");
  if (!sectors) return std::move(sectors).error();
  found.capacity_bytes = *sectors * 512;  // sysfs counts sectors of 512 bytes whatever the block
  auto block = read_number<std::uint32_t>(folder + "/queue/logical_block_size");
  if (!block) return std::move(block).error();
  found.block_bytes = *block;
  if (exists(folder + "/diskseq")) {
    auto sequence = read_number<std::uint64_t>(folder + "/diskseq");
    if (!sequence) return std::move(sequence).error();
    found.disk_sequence = *sequence;
  }
  auto children = list_directory(folder);
  if (!children) return std::move(children).error();
  for (const std::string& child : *children) {
    if (!exists(folder + "/" + child + "/partition")) continue;
    auto partition = read_block(folder + "/" + child, child);
    if (!partition) return std::move(partition).error();
    found.partitions.push_back(*std::move(partition));
  }
  return found;
}

// A character device by its folder, whose name is its node's.
Status add_node(const std::string& folder, std::vector<CharacterDevice>& nodes) {
  CharacterDevice node{folder.substr(folder.rfind('/') + 1), std::nullopt};
  auto text = read_file(folder + "/dev", kAttributeBytesMax);
  if (text) {
    const auto number = parse_device_number(*text);
    if (!number) return number.error().wrap(folder + "/dev");
    node.number = *number;
  } else if (text.error().code != Errc::not_found) {
    return std::move(text).error();
  }
  nodes.push_back(std::move(node));
  return Ok{};
}

// Block nodes of a controller: its own, or, under multipath, where the controller has only hidden
// paths (nvme0c1n1), the subsystem's node they stand for (nvme0n1).
Status read_namespaces(const std::string& sysfs_root, const std::string& folder, SysDrive& drive) {
  auto children = list_directory(folder);
  if (!children) return std::move(children).error();
  std::set<std::string> nodes;
  for (const std::string& child : *children) {
    if (numbers_of(child, "n")) nodes.insert(child);
    if (numbers_of(child, "n", "ng")) {
      if (auto added = add_node(folder + "/" + child, drive.generic_nodes); !added) return added;
    }
    if (const auto path = numbers_of(child, "cn")) {
      nodes.insert(fmt::format("nvme{}n{}", (*path)[0], (*path)[2]));
      const std::string generic = fmt::format("ng{}n{}", (*path)[0], (*path)[2]);
      auto added = add_node(sysfs_root + "/class/nvme-generic/" + generic, drive.generic_nodes);
      if (!added) return added;
    }
  }
  for (const std::string& node : nodes) {
    auto found = read_namespace(sysfs_root, node);
    if (!found) return std::move(found).error();
    drive.namespaces.push_back(*std::move(found));
  }
  std::sort(drive.namespaces.begin(), drive.namespaces.end(),
            [](const SysNamespace& a, const SysNamespace& b) { return a.nsid < b.nsid; });
  return Ok{};
}

Status read_controller(const std::string& sysfs_root, const std::string& device, SysDrive& drive) {
  auto names = list_directory(device + "/nvme");
  // A driver that is still probing, or gave up, has no controller yet.
  if (!names) return names.error().code == Errc::not_found ? Status(Ok{}) : Status(names.error());
  for (const std::string& name : *names) {
    if (!numbers_of(name, "")) continue;
    if (!drive.controller.empty()) {
      return Error{Errc::failed, fmt::format("{}/nvme names two controllers, {} and {}", device,
                                             drive.controller, name)};
    }
    drive.controller = name;
  }
  if (drive.controller.empty()) return Ok{};
  const std::string folder = device + "/nvme/" + drive.controller;
  auto dev = read_file(folder + "/dev", kAttributeBytesMax);
  if (!dev) return std::move(dev).error();
  auto number = parse_device_number(*dev);
  if (!number) return number.error().wrap(folder + "/dev");
  drive.controller_number = *number;
  for (const auto& [file, field] :
       {std::pair{"/state", &drive.controller_state}, std::pair{"/serial", &drive.serial},
        std::pair{"/subsysnqn", &drive.subsystem_nqn}}) {
    auto text = read_file(folder + file, kAttributeBytesMax);
    if (!text) return std::move(text).error();
    *field = *std::move(text);
  }
  return read_namespaces(sysfs_root, folder, drive);
}

std::string slot_of(const PciSlots& slots, const PciAddress& address) {
  const std::string name = to_string(address);
  const auto slot = slots.find(name.substr(0, name.rfind('.')));
  return slot == slots.end() ? std::string() : slot->second;
}

// Reads the MAC of the one interface that a driver has made below the function. An address of
// another length is no MAC (InfiniBand's has 20 bytes).
std::string mac_of(const std::string& device) {
  const auto interfaces = list_directory(device + "/net");
  if (!interfaces || interfaces->size() != 1) return {};
  const auto mac =
      read_file(device + "/net/" + interfaces->front() + "/address", kAttributeBytesMax);
  return mac && mac->size() == kMacCharacters ? *mac : std::string();
}

// The group's nodes, of which there is one while a vfio driver has a function of the group.
Status read_groups(const std::string& sysfs_root, SysDrive& drive) {
  if (drive.iommu_group < 0) return Ok{};
  for (const std::string_view kind : {"", "noiommu-"}) {
    auto added = add_node(fmt::format("{}/class/vfio/{}{}", sysfs_root, kind, drive.iommu_group),
                          drive.vfio_groups);
    if (!added) return added;
  }
  return Ok{};
}

Status read_function(const std::string& device, SysDrive& drive) {
  auto class_code = read_number<std::uint32_t>(device + "/class");
  if (!class_code) return std::move(class_code).error();
  drive.class_code = *class_code;
  auto vendor = read_number<std::uint16_t>(device + "/vendor");
  if (!vendor) return std::move(vendor).error();
  drive.vendor_id = *vendor;
  auto product = read_number<std::uint16_t>(device + "/device");
  if (!product) return std::move(product).error();
  drive.device_id = *product;
  drive.driver = link_name(device + "/driver");
  drive.is_virtual_function = exists(device + "/physfn");
  if (exists(device + "/sriov_numvfs")) {
    auto functions = read_number<std::uint32_t>(device + "/sriov_numvfs");
    if (!functions) return std::move(functions).error();
    drive.sriov_vfs_enabled = *functions;
  }
  const std::string group = link_name(device + "/iommu_group");
  if (!group.empty()) {
    const auto number = parse_number<decltype(drive.iommu_group)>(group);
    if (!number) {
      return Error{Errc::failed, fmt::format("{}/iommu_group leads to '{}'", device, group)};
    }
    drive.iommu_group = *number;
  }
  const auto cdevs = list_directory(device + "/vfio-dev");
  if (!cdevs) return cdevs.error().code == Errc::not_found ? Status(Ok{}) : Status(cdevs.error());
  for (const std::string& cdev : *cdevs) {
    auto added = add_node(device + "/vfio-dev/" + cdev, drive.vfio_devices);
    if (!added) return added;
  }
  return Ok{};
}

void add_disks_below(const std::string& sysfs_root, const std::string& name, int depth,
                     std::set<std::string>& disks) {
  const std::string folder = sysfs_root + "/class/block/" + name;
  if (depth > kStackDepthMax || !exists(folder)) return;
  if (exists(folder + "/partition")) {
    // A partition's folder lies inside its disk's.
    std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr),
                                                     &std::free);
    if (real == nullptr) return;
    std::string_view path = real.get();
    path = path.substr(0, path.rfind('/'));
    add_disks_below(sysfs_root, std::string(path.substr(path.rfind('/') + 1)), depth + 1, disks);
    return;
  }
  const auto slaves = list_directory(folder + "/slaves");
  if (!slaves || slaves->empty()) {
    disks.insert(name);
    return;
  }
  for (const std::string& slave : *slaves) add_disks_below(sysfs_root, slave, depth + 1, disks);
}

// The folder of a function; Errc::not_found where there is none.
Result<std::string> folder_of(const std::string& sysfs_root, const PciAddress& address) {
  std::string device = sysfs_root + "/bus/pci/devices/" + to_string(address);
  if (exists(device)) return device;
  return Error{Errc::not_found, fmt::format("there is no PCI function {} on this host ({} does not "
                                            "exist)",
                                            to_string(address), device)};
}

}  // namespace

std::string to_string(const DeviceNumber& number) {
  return fmt::format("{}:{}", number.major, number.minor);
}

Result<DeviceNumber> parse_device_number(std::string_view text) {
  std::string_view minor_text = text;
  const auto major = parse_number<unsigned>(take_until(minor_text, ':'));
  const auto minor = parse_number<unsigned>(minor_text);
  if (major && minor) return DeviceNumber{*major, *minor};
  return Error{Errc::failed,
               fmt::format("'{}' is not a device number; MAJOR:MINOR is", text.substr(0, 64))};
}

std::vector<const BlockDevice*> SysDrive::block_devices() const {
  std::vector<const BlockDevice*> all;
  for (const SysNamespace& ns : namespaces) {
    all.push_back(&ns.disk);
    for (const BlockDevice& partition : ns.partitions) all.push_back(&partition);
  }
  return all;
}

PciSlots list_slots(const std::string& sysfs_root) {
  PciSlots slots;
  const std::string folder = sysfs_root + "/bus/pci/slots";
  const auto names = list_directory(folder);
  if (!names) return slots;
  for (const std::string& name : *names) {
    const auto address = read_file(folder + "/" + name + "/address", kAttributeBytesMax);
    if (address && !address->empty()) slots.emplace(*address, name);
  }
  return slots;
}

Result<SysDrive> read_drive(const std::string& sysfs_root, const PciAddress& address) {
  return read_drive(sysfs_root, address, list_slots(sysfs_root));
}

Result<SysDrive> read_drive(const std::string& sysfs_root, const PciAddress& address,
                            const PciSlots& slots) {
  const auto folder = folder_of(sysfs_root, address);
  if (!folder) return folder.error();
  const std::string& device = *folder;
  SysDrive drive;
  drive.address = address;
  // A file that vanishes while we read means that the drive went away or is being re-bound: what
  // was read is not a picture of anything.
  const auto incomplete = [&device](const Error& error) {
    return Error{Errc::failed, fmt::format("{} cannot be read: {}", device, error.what), error.raw};
  };
  if (auto function = read_function(device, drive); !function) return incomplete(function.error());
  if (auto groups = read_groups(sysfs_root, drive); !groups) return incomplete(groups.error());
  // A value of these that cannot be read is not known; it refuses nothing by itself.
  drive.hardware.serial_number = device_serial_number(read_config_space(device));
  drive.hardware.slot = slot_of(slots, address);
  if (drive.class_code >> 16U == kNetworkClass) drive.mac = mac_of(device);
  if (drive.driver == "nvme") {
    if (auto controller = read_controller(sysfs_root, device, drive); !controller) {
      return incomplete(controller.error());
    }
  }
  return drive;
}

Result<std::string> read_driver(const std::string& sysfs_root, const PciAddress& address) {
  const auto folder = folder_of(sysfs_root, address);
  if (!folder) return folder.error();
  return link_name(*folder + "/driver");
}

Result<std::vector<PciAddress>> list_nvme_functions(const std::string& sysfs_root) {
  const std::string folder = sysfs_root + "/bus/pci/devices";
  auto names = list_directory(folder);
  if (!names) return std::move(names).error();
  std::vector<PciAddress> found;
  for (const std::string& name : *names) {
    const auto address = parse_pci_address(name);
    if (!address) continue;
    const auto class_code = read_number<std::uint32_t>(folder + "/" + name + "/class");
    if (class_code && *class_code >> 8U == kNvmeClass) found.push_back(*address);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<std::string>> subsystem_peers(const std::string& sysfs_root,
                                                 const SysDrive& drive) {
  const std::string folder = sysfs_root + "/class/nvme";
  auto controllers = list_directory(folder);
  if (!controllers) return std::move(controllers).error();
  std::vector<std::string> peers;
  for (const std::string& name : *controllers) {
    if (name == drive.controller) continue;
    auto nqn = read_optional(folder + "/" + name + "/subsysnqn");
    if (!nqn) return std::move(nqn).error();
    if (!nqn->empty() && *nqn == drive.subsystem_nqn) peers.push_back(name);
  }
  return peers;
}

std::vector<std::string> disks_below(const std::string& sysfs_root, const std::string& name) {
  std::set<std::string> disks;
  if (!name.empty()) add_disks_below(sysfs_root, name, 0, disks);
  return {disks.begin(), disks.end()};
}

std::string block_name(const std::string& sysfs_root, const DeviceNumber& number) {
  const std::string folder = sysfs_root + "/class/block";
  const auto names = list_directory(folder);
  if (!names) return {};
  for (const std::string& name : *names) {
    const auto text = read_file(folder + "/" + name + "/dev", kAttributeBytesMax);
    if (text && *text == to_string(number)) return name;
  }
  return {};
}

Result<BlockDevice> read_block(const std::string& folder, const std::string& name) {
  auto text = read_file(folder + "/dev", kAttributeBytesMax);
  if (!text) return std::move(text).error();
  auto number = parse_device_number(*text);
  if (!number) return number.error().wrap(folder + "/dev");
  BlockDevice block{name, *number, {}};
  auto holders = list_directory(folder + "/holders");
  if (holders) {
    block.holders = *std::move(holders);
  } else if (holders.error().code != Errc::not_found) {
    return std::move(holders).error();
  }
  // A cache device of bcache has no holder, but a folder of bcache's.
  if (exists(folder + "/bcache")) block.holders.emplace_back("bcache");
  return block;
}

std::string link_name(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length <= 0) return {};
  const std::string_view text(target.data(), static_cast<std::size_t>(length));
  return std::string(text.substr(text.rfind('/') + 1));
}

// read_file() would cut what looks like white space at its end.
std::string read_config_space(const std::string& device) {
  const UniqueFd fd(::open((device + "/config").c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(kConfigBytesMax, '\0');
  std::size_t have = 0;
  while (fd.valid() && have < bytes.size()) {
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return io_error("open", path, errno);
  // Grown as needed: a limit of megabytes must not cost megabytes for a file of a few lines.
  std::string text(std::min(kFirstReadBytes, bytes_max + 1), '\0');
  std::size_t have = 0;
  while (have <= bytes_max) {
    if (have == text.size()) text.resize(std::min(2 * text.size(), bytes_max + 1));
    const ssize_t got = ::read(fd.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  if (have > bytes_max) {
    return Error{Errc::limit, fmt::format("{} is longer than {} bytes", path, bytes_max)};
  }
  text.resize(have);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return io_error("list", path, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == "..") continue;
    if (names.size() == kDirectoryEntriesMax) {
      return Error{Errc::limit,
                   fmt::format("{} has more than {} entries", path, kDirectoryEntriesMax)};
    }
    names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return io_error("list", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace reclaim::nvme
