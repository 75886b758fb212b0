// A host's /sys, /proc, /dev and libvirt directories in a temporary folder, laid out as Linux 6.1
// does, with one NVMe drive at 0000:c1:00.0 that nothing stands in the way of. Each test then
// breaks one thing. (What an opened drive answers is the emulator's business; see
// tests/integration.)
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "nvme/host/guards.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "tests/temp_folder.h"

namespace reclaim::nvme {

class HostTree final {
 public:
  HostTree() {
    options.sysfs_root = root / "sys";
    options.dev_root = root / "dev";
    options.proc_root = root / "proc";
    options.run_path = root / "run/reclaim";
    options.libvirt_dirs = {root / "run/libvirt/qemu", root / "etc/libvirt/qemu"};
    request.address = *parse_pci_address("0000:c1:00.0");
    request.resource_class = "CUSTOM_PCI_144D_A824";
    add_drive();
    add_root_disk();
    for (const char* folder_name : {"run/libvirt/qemu", "etc/libvirt/qemu", "dev"}) {
      std::filesystem::create_directories(root / folder_name);
    }
    write("proc/1/mountinfo",
          "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
          "23 22 0:21 / /sys rw shared:2 - sysfs sysfs rw\n");
    write("proc/1/comm", "systemd\n");
    link("proc/1/ns/pid", "pid:[4026531836]");
    std::filesystem::create_directories(root / "proc/1/fd");
    write("proc/swaps", "Filename\t\t\t\tType\t\tSize\n/dev/sda3   partition\t999\n");
  }
  HostTree(const HostTree&) = delete;
  HostTree& operator=(const HostTree&) = delete;

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  void link(const std::string& path, const std::filesystem::path& target) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::filesystem::remove(root / path);
    std::filesystem::create_symlink(target, root / path);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root / path); }
  // A process with one open file.
  void process(int pid, const std::string& name, const std::string& open_file) const {
    const std::string folder = "proc/" + std::to_string(pid);
    write(folder + "/comm", name + "\n");
    link(folder + "/fd/7", open_file);
  }
  void block(const std::string& folder, const std::string& dev, const std::string& sectors) const {
    write(folder + "/dev", dev + "\n");
    write(folder + "/size", sectors + "\n");
    write(folder + "/queue/logical_block_size", "512\n");
    std::filesystem::create_directories(root / folder / "holders");
    std::filesystem::create_directories(root / folder / "slaves");
    const std::string name = std::filesystem::path(folder).filename();
    link("sys/class/block/" + name, root / folder);
  }

  [[nodiscard]] Result<SysDrive> read() const {
    return read_drive(options.sysfs_root, request.address);
  }
  [[nodiscard]] GuardResult look(Guard guard) const {
    const auto drive = read();
    CHECK(drive.ok());
    return guard(GuardContext{options, request, *drive});
  }

  static constexpr const char* kFunction = "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0";
  // The controller's number differs from the disk's on purpose.
  static constexpr const char* kController =
      "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/nvme/nvme5";
  static constexpr const char* kDisk =
      "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/nvme/nvme5/nvme3n1";

  const TempFolder temporary;
  const std::filesystem::path& root = temporary.path();
  Options options;
  ClaimRequest request;

 private:
  void add_drive() const {
    const std::string function = kFunction;
    link("sys/bus/pci/devices/0000:c1:00.0", root / function);
    write(function + "/class", "0x010802\n");
    write(function + "/vendor", "0x144d\n");
    write(function + "/device", "0xa824\n");
    write(function + "/sriov_numvfs", "0\n");
    link(function + "/driver", root / "sys/bus/pci/drivers/nvme");
    link(function + "/iommu_group", root / "sys/kernel/iommu_groups/41");
    const std::string controller = kController;
    write(controller + "/dev", "238:5\n");
    write(controller + "/state", "live\n");
    write(controller + "/serial", "S4YPNE0N            \n");
    write(controller + "/subsysnqn", "nqn.1994-11.com.samsung:nvme:PM1733:S4YPNE0N\n");
    link("sys/class/nvme/nvme5", root / controller);
    block(kDisk, "259:4", "7501476528");
    write(std::string(kDisk) + "/nsid", "1\n");
    block(std::string(kDisk) + "/nvme3n1p1", "259:5", "2048");
    write(std::string(kDisk) + "/nvme3n1p1/partition", "1\n");
  }
  void add_root_disk() const {
    const std::string disk = "sys/devices/pci0000:00/ata1/block/sda";
    block(disk, "8:0", "1000000");
    block(disk + "/sda2", "8:2", "900000");
    write(disk + "/sda2/partition", "2\n");
  }
};

}  // namespace reclaim::nvme
