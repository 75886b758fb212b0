#include "tests/emulator/host/sysfs_tree.h"

#include <algorithm>

#include "tests/emulator/host/sysfs_files.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

// The wire's fixed field: the kernel prints it to its full width, blanks included.
template <std::size_t Width>
std::string padded(const std::array<char, Width>& field) {
  return std::string(field.data(), field.size());
}

}  // namespace

std::uint32_t block_minor(const DriveState& state, std::uint32_t nsid) {
  return state.host.disk * kNamespacesMax + nsid - 1;
}

std::string controller_name(const DriveState& state) {
  return "nvme" + std::to_string(state.host.instance);
}

std::string disk_name(const DriveState& state, std::uint32_t nsid) {
  return "nvme" + std::to_string(state.host.disk) + "n" + std::to_string(nsid);
}

std::string text_of(std::span<const char> field) {
  std::string text(field.data(), field.size());
  text.resize(std::min(text.size(), text.find('\0')));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

fs::path SysfsTree::device_folder(const std::string& address) const {
  const std::string domain = address.substr(0, address.find(':'));
  const std::string bus = address.substr(domain.size() + 1, 2);
  const auto number = static_cast<unsigned>(std::stoul(bus, nullptr, 16));
  const std::string port =
      domain + ":00:" + hex("%02x", number & 0x1fU) + "." + hex("%x", number >> 5U);
  return root_ / "sys/devices" / ("pci" + domain + ":00") / port / address;
}

Status SysfsTree::create_skeleton() const {
  std::error_code code;
  for (const char* folder :
       {"dev", "state", "run/libvirt/qemu", "etc/libvirt/qemu", "var/lib/nova", "proc/1/fd",
        "proc/self/fd", "sys/block", "sys/class/nvme", "sys/class/nvme-subsystem",
        "sys/class/block", "sys/dev/block", "sys/dev/char", "sys/devices/virtual/nvme-subsystem",
        "sys/kernel/iommu_groups", "sys/bus/pci/devices", "sys/bus/pci/drivers/nvme",
        "sys/bus/pci/drivers/vfio-pci", "sys/bus/pci/drivers/variant-vfio-pci"}) {
    fs::create_directories(root_ / folder, code);
    if (code) {
      return Error{Errc::failed,
                   "cannot create " + (root_ / folder).string() + ": " + code.message()};
    }
  }
  for (const char* driver : {"nvme", "vfio-pci", "variant-vfio-pci"}) {
    for (const char* file : {"bind", "unbind", "new_id", "remove_id", "uevent"}) {
      put(root_ / "sys/bus/pci/drivers" / driver / file, "");
    }
  }
  put(root_ / "sys/bus/pci/drivers_probe", "");
  put(root_ / "sys/bus/pci/rescan", "");
  put_line(root_ / "sys/module/nvme_core/parameters/multipath", "Y");
  const std::string mounts =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "23 22 0:21 / /sys rw,nosuid,nodev,noexec,relatime shared:2 - sysfs sysfs rw\n"
      "24 22 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:3 - proc proc rw\n";
  put(root_ / "proc/self/mountinfo", mounts);
  put(root_ / "proc/1/mountinfo", mounts);
  put(root_ / "proc/1/comm", "systemd\n");
  fs::create_directories(root_ / "proc/1/ns", code);
  fs::create_symlink("pid:[4026531836]", root_ / "proc/1/ns/pid", code);
  put_line(root_ / "proc/sys/kernel/random/boot_id", "5f9c2b1e-0c6f-4a55-9d0e-3a1f0d1b7c42");
  put(root_ / "proc/mounts", "/dev/sda1 / ext4 rw,relatime 0 0\n");
  put(root_ / "proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
  put(root_ / "proc/mdstat", "Personalities : \nunused devices: <none>\n");
  put_line(root_ / "var/lib/nova/compute_id", "7a0ff7a8-b2c3-4d0d-8ef3-3f5d6c1f0c11");
  put_line(root_ / "etc/machine-id", "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
  return Ok{};
}

void SysfsTree::function_files(const DriveState& state, const std::string& address) const {
  const fs::path folder = device_folder(address);
  const HostSide& host = state.host;
  put_line(folder / "vendor", hex("0x%04x", host.vendor));
  put_line(folder / "device", hex("0x%04x", host.device));
  put_line(folder / "subsystem_vendor", hex("0x%04x", host.vendor));
  put_line(folder / "subsystem_device", "0xa801");
  put_line(folder / "class", "0x010802");
  put_line(folder / "revision", "0x00");
  put_line(folder / "numa_node", std::to_string(host.numa_node));
  put_line(folder / "enable", "1");
  put_line(folder / "power_state", "D0");
  put_line(folder / "reset_method", "flr bus");
  for (const char* file : {"reset", "remove", "rescan"}) put(folder / file, "");
  if (!fs::exists(folder / "driver_override")) put_line(folder / "driver_override", "(null)");
  put(folder / "uevent",
      "DRIVER=" + text_of(host.driver) + "\nPCI_CLASS=10802\nPCI_SLOT_NAME=" + address + "\n");
  // The controller's registers, of which only CAP.MQES and CAP.PMRS (bit 56) are modelled.
  std::string registers(4096, '\0');
  registers[0] = '\xff';
  registers[7] = state.capabilities.pmr_enabled ? '\1' : '\0';
  put(folder / "resource0", registers);
  if (host.sriov_total > 0) {
    put_line(folder / "sriov_totalvfs", std::to_string(host.sriov_total));
    put_line(folder / "sriov_numvfs", std::to_string(host.sriov_enabled));
  } else {
    drop(folder / "sriov_totalvfs");
    drop(folder / "sriov_numvfs");
  }
  const std::string group = std::to_string(host.iommu_group);
  link(folder / "iommu_group", root_ / "sys/kernel/iommu_groups" / group);
  link(root_ / "sys/kernel/iommu_groups" / group / "devices" / address, folder);
  link(folder / "subsystem", root_ / "sys/bus/pci");
  link(root_ / "sys/bus/pci/devices" / address, folder);
}

void SysfsTree::driver_links(const DriveState& state, const std::string& address) const {
  const fs::path folder = device_folder(address);
  const std::string driver = text_of(state.host.driver);
  const fs::path drivers = root_ / "sys/bus/pci/drivers";
  for (const auto& each : fs::directory_iterator(drivers)) {
    if (each.path().filename() != driver) drop(each.path() / address);
  }
  if (driver.empty()) {
    drop(folder / "driver");
    return;
  }
  link(folder / "driver", drivers / driver);
  link(drivers / driver / address, folder);
}

void SysfsTree::controller_files(const DriveState& state, const std::string& address) const {
  const std::string name = controller_name(state);
  const fs::path folder = device_folder(address) / "nvme" / name;
  put_line(folder / "address", address);
  put_line(folder / "serial", padded(state.serial));
  put_line(folder / "model", padded(state.model));
  put_line(folder / "firmware_rev", padded(state.firmware));
  put_line(folder / "state", text_of(state.host.controller_state));
  put_line(folder / "cntlid", std::to_string(state.controller_id));
  put_line(folder / "subsysnqn", text_of(state.subsystem_nqn));
  put_line(folder / "transport", "pcie");
  put_line(folder / "cntrltype", "io");
  put_line(folder / "numa_node", std::to_string(state.host.numa_node));
  put_line(folder / "queue_count", "65");
  put_line(folder / "sqsize", "1023");
  put_line(folder / "kato", "0");
  put_line(folder / "dev", numbers(kControllerMajor, state.host.instance));
  put(folder / "uevent", "MAJOR=" + std::to_string(kControllerMajor) +
                             "\nMINOR=" + std::to_string(state.host.instance) +
                             "\nDEVNAME=" + name + "\nNVME_TRTYPE=pcie\n");
  if (state.capabilities.cmb) {
    put_line(folder / "cmb", "cmbloc : 0x00000002\ncmbsz  : 0x00001011");
  } else {
    drop(folder / "cmb");
  }
  for (const char* file : {"reset_controller", "rescan_controller"}) put(folder / file, "");
  link(folder / "device", device_folder(address));
  link(folder / "subsystem", root_ / "sys/class/nvme");
  link(root_ / "sys/class/nvme" / name, folder);
  link(root_ / "sys/dev/char" / numbers(kControllerMajor, state.host.instance), folder);
  if (!fs::exists(root_ / "dev" / name)) put(root_ / "dev" / name, "");
}

fs::path SysfsTree::subsystem_folder(const DriveState& state) const {
  return root_ / "sys/devices/virtual/nvme-subsystem" /
         ("nvme-subsys" + std::to_string(state.host.disk));
}

void SysfsTree::subsystem_files(const DriveState& state, const std::string& address) const {
  const fs::path folder = subsystem_folder(state);
  const std::string name = folder.filename();
  put_line(folder / "subsysnqn", text_of(state.subsystem_nqn));
  put_line(folder / "serial", padded(state.serial));
  put_line(folder / "model", padded(state.model));
  put_line(folder / "firmware_rev", padded(state.firmware));
  put_line(folder / "subsystype", "nvm");
  put_line(folder / "iopolicy", "numa");
  link(folder / "subsystem", root_ / "sys/class/nvme-subsystem");
  link(folder / controller_name(state), device_folder(address) / "nvme" / controller_name(state));
  link(root_ / "sys/class/nvme-subsystem" / name, folder);
}

void SysfsTree::remove_controller(const DriveState& state, const std::string& address) const {
  const std::string name = controller_name(state);
  const fs::path subsystem = subsystem_folder(state);
  drop(root_ / "sys/class/nvme" / name);
  drop(subsystem / name);
  std::error_code code;
  bool shared = false;
  for (const auto& each : fs::directory_iterator(subsystem, code)) {
    const std::string other = each.path().filename();
    shared = shared || (each.is_symlink() && other.starts_with("nvme"));
  }
  if (!shared) {
    drop(root_ / "sys/class/nvme-subsystem" / subsystem.filename());
    drop(subsystem);
  }
  drop(root_ / "sys/dev/char" / numbers(kControllerMajor, state.host.instance));
  drop(root_ / "dev" / name);
  drop(device_folder(address) / "nvme");
}

// A group lives as long as one of its functions stands on a vfio driver.
bool SysfsTree::group_on_vfio(const std::string& group) const {
  std::error_code code;
  const fs::path members = root_ / "sys/kernel/iommu_groups" / group / "devices";
  for (const auto& each : fs::directory_iterator(members, code)) {
    const fs::path driver = fs::read_symlink(each.path() / "driver", code).filename();
    if (driver.string().find("vfio") != std::string::npos) return true;
  }
  return false;
}

void SysfsTree::remove_function(const std::string& address) const {
  const fs::path folder = device_folder(address);
  std::error_code code;
  for (const auto& each : fs::directory_iterator(root_ / "sys/bus/pci/drivers", code)) {
    drop(each.path() / address);
  }
  drop(root_ / "sys/bus/pci/devices" / address);
  drop(folder);
}

void SysfsTree::vfio_files(const DriveState& state, const std::string& address,
                           bool present) const {
  const std::string group = std::to_string(state.host.iommu_group);
  const std::string cdev = "vfio" + std::to_string(state.host.instance);
  if (!present) {
    if (!group_on_vfio(group)) drop(root_ / "dev/vfio" / group);
    drop(root_ / "dev/vfio/devices" / cdev);
    drop(device_folder(address) / "vfio-dev");
    return;
  }
  for (const fs::path& node :
       {root_ / "dev/vfio/vfio", root_ / "dev/vfio" / group, root_ / "dev/vfio/devices" / cdev}) {
    if (!fs::exists(node)) put(node, "");
  }
  put_line(device_folder(address) / "vfio-dev" / cdev / "dev",
           numbers(kVfioMajor, kVfioMinorBase + state.host.instance));
}

Status SysfsTree::sync(DriveFile& drive) const {
  const std::string& address = drive.address();
  return drive.with([&](Controller&, DriveState& state) -> Status {
    function_files(state, address);
    driver_links(state, address);
    const std::string driver = text_of(state.host.driver);
    const bool bound = driver == "nvme";
    if (bound) {
      controller_files(state, address);
      subsystem_files(state, address);
    }
    for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
      const NamespaceState& each = state.namespaces[nsid - 1];
      if (!bound || !state.host.known[nsid - 1]) {
        remove_namespace(state, address, nsid);
        continue;
      }
      if (!each.allocated) continue;  // gone, and the kernel has not looked yet
      namespace_files(state, address, nsid);
      const fs::path node = root_ / "dev" / disk_name(state, nsid);
      std::error_code code;
      if (!fs::equivalent(node, drive.media().path(nsid), code)) {
        drop(node);
        fs::create_hard_link(drive.media().path(nsid), node, code);
        if (code)
          return Error{Errc::failed, "cannot link " + node.string() + ": " + code.message()};
      }
    }
    if (!bound) remove_controller(state, address);
    const bool vfio = driver.find("vfio") != std::string::npos;
    vfio_files(state, address, vfio && state.host.settles_at_ms == 0);
    return Ok{};
  });
}

}  // namespace reclaim::emulator
