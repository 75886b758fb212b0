// Reads what the driver of a function that is no NVMe drive made of it: every node and network
// interface below its folder in sysfs, whatever class it is of. Links are not followed, so that
// nothing of other devices is found.
#include <fmt/core.h>
#include <sys/stat.h>

#include "nvme/host/sysfs.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr int kDepthMax = 16;
constexpr std::size_t kFoldersMax = 4096;
constexpr std::uint32_t kInterfaceUp = 1;  // IFF_UP, netdevice(7)

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

class Walk final {
 public:
  explicit Walk(SysDrive& function) : function_(function) {}

  [[nodiscard]] Status folder(const std::string& path, const std::string& parent, int depth) {
    if (depth > kDepthMax || ++folders_ > kFoldersMax) {
      return Error{Errc::limit, fmt::format("{} has more folders than are looked at", path)};
    }
    const auto names = list_directory(path);
    if (!names) return names.error();
    const std::string name = path.substr(path.rfind('/') + 1);
    if (parent == "net") {
      if (auto done = interface(path, name, *names); !done) return done;
    }
    for (const std::string& each : *names) {
      const std::string inside = path + "/" + each;
      if (each == "dev" && depth > 0 && !is_folder(inside)) {
        if (auto done = node(path, name); !done) return done;
        continue;
      }
      // The function's vfio devices are known, and are not the host's.
      if ((depth == 0 && each == "vfio-dev") || !is_folder(inside)) continue;
      if (parse_pci_address(each)) {
        return Error{Errc::failed, fmt::format("there are PCI functions behind it ({})", each)};
      }
      if (auto done = folder(inside, name, depth + 1); !done) return done;
    }
    return Ok{};
  }

 private:
  Status interface(const std::string& path, const std::string& name,
                   const std::vector<std::string>& names) {
    const auto text = read_file(path + "/flags", kTextBytesMax);
    if (!text) return text.error();
    const auto flags = parse_hex<std::uint32_t>(*text);
    if (!flags) return Error{Errc::failed, fmt::format("{}/flags says '{}'", path, *text)};
    const auto state = read_file(path + "/operstate", kTextBytesMax);
    SysInterface found{name, (*flags & kInterfaceUp) != 0 || (state && *state == "up"), {}};
    for (const std::string& each : names) {
      if (each == "master" || each.starts_with("upper_")) {
        found.stacks.push_back(link_name(path + "/" + each));
      }
    }
    function_.interfaces.push_back(std::move(found));
    return Ok{};
  }

  Status node(const std::string& path, const std::string& name) {
    if (link_name(path + "/subsystem") == "block") return disk(path, name);
    const auto text = read_file(path + "/dev", kTextBytesMax);
    if (!text) return text.error();
    const auto number = parse_device_number(*text);
    if (!number) return number.error().wrap(path + "/dev");
    function_.generic_nodes.push_back(CharacterDevice{name, *number});
    return Ok{};
  }

  // A partition is found in the folder of its disk; it has a row of its own, which does as well.
  Status disk(const std::string& path, const std::string& name) {
    auto block = read_block(path, name);
    if (!block) return std::move(block).error();
    SysNamespace found;
    found.disk = *std::move(block);
    function_.namespaces.push_back(std::move(found));
    return Ok{};
  }

  SysDrive& function_;
  std::size_t folders_ = 0;
};

}  // namespace

Result<SysDrive> read_function(const std::string& sysfs_root, const PciAddress& address) {
  auto function = read_drive(sysfs_root, address);
  if (!function || function->driver.empty() || function->driver == "nvme") return function;
  const std::string folder = sysfs_root + "/bus/pci/devices/" + to_string(address);
  if (auto walked = Walk(*function).folder(folder, "", 0); !walked) {
    return Error{Errc::failed, fmt::format("{} cannot be read: {}", folder, walked.error().what),
                 walked.error().raw};
  }
  return function;
}

}  // namespace reclaim::nvme
