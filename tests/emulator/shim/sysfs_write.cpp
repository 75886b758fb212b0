// Writing to sysfs attributes: driver binding, overrides, resets and rescans. Everything else in
// the tree is an ordinary file.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/emulator/shim/kernel.h"
#include "tests/emulator/shim/real.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

std::string driver_of(DriveFile& drive) {
  return drive.with([](Controller&, DriveState& state) { return text_of(state.host.driver); });
}

// The driver that a probe picks: the override, else nvme, which matches the class.
std::string override_of(const fs::path& root, const std::string& address) {
  std::ifstream file(root / "sys/bus/pci/devices" / address / "driver_override");
  std::string value;
  std::getline(file, value);
  return value == "(null)" ? std::string() : value;
}

// errno of a Status, 0 for ok.
int number_of(const Status& status) {
  return status.ok() ? 0 : EIO;
}

}  // namespace

int Kernel::function_action(Host& host, const PciFunction& function, const std::string& name,
                            const std::string& parent, const std::string& value) {
  const std::string now = function.driver();
  const std::string overridden = override_of(host.root(), value);
  const std::string wanted = overridden.empty() ? function.matching_driver() : overridden;
  if (name == "unbind") {
    if (now != parent) return ENODEV;
    if (function.vfio_user() || claimed(function.vfio_device())) return would_hang(value, now);
    return number_of(function.bind(""));
  }
  if (name == "bind")
    return now.empty() && wanted == parent ? number_of(function.bind(parent)) : ENODEV;
  if (name == "drivers_probe") {
    // As of a drive: that no driver took it is no error.
    if (now.empty()) (void)function.bind(wanted);
    return 0;
  }
  return function.write(name, value);
}

// Returns 0, an errno, or -1 when the attribute is a plain file.
int Kernel::sysfs_action(OpenNode& node, const std::string& value) {
  const fs::path path(node.path);
  const std::string name = path.filename();
  const std::string parent = path.parent_path().filename();
  Host& host = *node.host;
  if (const auto function = host.function(
          name == "bind" || name == "unbind" || name == "drivers_probe" ? value : parent)) {
    return function_action(host, *function, name, parent, value);
  }
  if (name == "bind" || name == "unbind") {
    auto drive = host.drive(value);
    if (!drive.ok()) return ENODEV;
    const std::string now = driver_of(**drive);
    if (name == "unbind") return now == parent ? unbind(host, value, parent) : ENODEV;
    const std::string wanted = override_of(host.root(), value);
    const bool matches = wanted.empty() ? parent == "nvme" : wanted == parent;
    return now.empty() && matches ? number_of(host.bind(value, parent)) : ENODEV;
  }
  if (name == "drivers_probe") {
    auto drive = host.drive(value);
    if (!drive.ok()) return ENODEV;
    if (!driver_of(**drive).empty()) return 0;
    const std::string wanted = override_of(host.root(), value);
    const std::string driver = wanted.empty() ? "nvme" : wanted;
    // A probe that finds no driver, or one that fails, succeeds all the same (which is why callers
    // must look again).
    const bool known = fs::exists(host.root() / "sys/bus/pci/drivers" / driver);
    if (known) (void)host.bind(value, driver);
    return 0;
  }
  const bool controller_attribute = parent.starts_with("nvme");
  if (controller_attribute && (name == "reset_controller" || name == "rescan_controller")) {
    const std::string address = path.parent_path().parent_path().parent_path().filename();
    auto drive = host.drive(address);
    if (!drive.ok()) return ENODEV;
    return number_of(name == "reset_controller" ? host.reset(address) : host.rescan(**drive));
  }
  if (name == "reset") return host.drive(parent).ok() ? number_of(host.reset(parent)) : -1;
  return -1;
}

ssize_t Kernel::write_sysfs(OpenNode& node, int fd, const std::string& text) {
  std::string value = text;
  while (!value.empty() && value.back() == '\n') value.pop_back();
  const int number = node.host == nullptr ? -1 : sysfs_action(node, value);
  if (number > 0) {
    errno = number;
    return -1;
  }
  if (number < 0) {
    const InternalIo internal;
    // An attribute holds what was written last, not what was written over.
    const bool unset = fs::path(node.path).filename() == "driver_override" && value.empty();
    const std::string kept = (unset ? "(null)" : value) + "\n";
    if (real().ftruncate(fd, 0) != 0) return -1;
    if (real().pwrite(fd, kept.data(), kept.size(), 0) < 0) return -1;
  }
  return static_cast<ssize_t>(text.size());
}

}  // namespace reclaim::emulator
