// SysfsTree: disks. Without native multipath a disk is the controller's own (nvme0n1); with it, the
// controller has a hidden path (nvme0c0n1, no node) and the disk is the subsystem's.
#include "tests/emulator/host/sysfs_files.h"
#include "tests/emulator/host/sysfs_tree.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

std::string path_name(const DriveState& state, std::uint32_t nsid) {
  return "nvme" + std::to_string(state.host.disk) + "c" + std::to_string(state.host.instance) +
         "n" + std::to_string(nsid);
}

void disk_files(const fs::path& folder, const NamespaceState& each, std::uint32_t nsid,
                std::uint32_t generation) {
  const std::uint32_t block = each.lba_format == 1 ? 4096 : 512;
  fs::create_directories(folder / "holders");
  fs::create_directories(folder / "slaves");
  put_line(folder / "nsid", std::to_string(nsid));
  const bool usable = each.lba_format != kExtendedFormat;
  put_line(folder / "size", std::to_string(usable ? each.blocks * block / 512 : 0));
  put_line(folder / "ro", each.write_protect != 0 ? "1" : "0");
  put_line(folder / "removable", "0");
  put_line(folder / "range", "0");
  put_line(folder / "ext_range", "256");
  put_line(folder / "alignment_offset", "0");
  put_line(folder / "diskseq", std::to_string(generation));
  put_line(folder / "eui", hex_bytes(each.eui64, " "));
  put_line(folder / "nguid", uuid_of(each.nguid));
  put_line(folder / "wwid", "eui." + hex_bytes(each.nguid, ""));
  for (const char* file :
       {"logical_block_size", "physical_block_size", "hw_sector_size", "minimum_io_size"}) {
    put_line(folder / "queue" / file, std::to_string(block));
  }
  put_line(folder / "queue/rotational", "0");
  put_line(folder / "queue/zoned", "none");
  put_line(folder / "queue/nr_requests", "1023");
  put_line(folder / "queue/max_sectors_kb", "512");
  put_line(folder / "queue/max_hw_sectors_kb", "512");
  put_line(folder / "queue/discard_max_bytes", "2199023255040");
  put_line(folder / "queue/write_zeroes_max_bytes", "524288");
  put_line(folder / "queue/dma_alignment", "3");
}

}  // namespace

void SysfsTree::namespace_files(const DriveState& state, const std::string& address,
                                std::uint32_t nsid) const {
  const NamespaceState& each = state.namespaces[nsid - 1];
  const std::string name = disk_name(state, nsid);
  const fs::path controller = device_folder(address) / "nvme" / controller_name(state);
  const fs::path owner = state.host.multipath ? subsystem_folder(state) : controller;
  const fs::path folder = owner / name;
  const std::string device = numbers(kBlockMajor, block_minor(state, nsid));
  if (state.host.multipath) {
    drop(controller / name);
  } else {
    drop(root_ / "sys/block" / path_name(state, nsid));
    drop(root_ / "sys/class/block" / path_name(state, nsid));
    drop(controller / path_name(state, nsid));
    drop(subsystem_folder(state) / name);
  }
  disk_files(folder, each, nsid, state.host.generation);
  put_line(folder / "dev", device);
  put_line(folder / "hidden", "0");
  put(folder / "uevent", "MAJOR=" + std::to_string(kBlockMajor) +
                             "\nMINOR=" + std::to_string(block_minor(state, nsid)) +
                             "\nDEVNAME=" + name + "\nDEVTYPE=disk\n");
  link(folder / "device", owner);
  link(folder / "subsystem", root_ / "sys/class/block");
  for (const fs::path& at : {root_ / "sys/block" / name, root_ / "sys/class/block" / name,
                             root_ / "sys/dev/block" / device}) {
    link(at, folder);
  }
  if (!state.host.multipath) return;
  const std::string path = path_name(state, nsid);
  disk_files(controller / path, each, nsid, state.host.generation);
  put_line(controller / path / "hidden", "1");
  put_line(controller / path / "ana_state", "optimized");
  put_line(controller / path / "ana_grpid", "0");
  link(controller / path / "device", controller);
  link(controller / path / "subsystem", root_ / "sys/class/block");
  link(root_ / "sys/block" / path, controller / path);
  link(root_ / "sys/class/block" / path, controller / path);
}

void SysfsTree::remove_namespace(const DriveState& state, const std::string& address,
                                 std::uint32_t nsid) const {
  const fs::path controller = device_folder(address) / "nvme" / controller_name(state);
  const std::string path = path_name(state, nsid);
  drop(root_ / "sys/block" / path);
  drop(root_ / "sys/class/block" / path);
  drop(controller / path);
  const std::string name = disk_name(state, nsid);
  drop(controller / name);
  // The disk may be another controller's of the same subsystem.
  std::error_code code;
  for (const auto& each : fs::directory_iterator(subsystem_folder(state), code)) {
    const std::string peer = each.path().filename();
    if (!each.is_symlink() || peer == controller_name(state)) continue;
    if (fs::exists(each.path() / ("nvme" + std::to_string(state.host.disk) + "c" + peer.substr(4) +
                                  "n" + std::to_string(nsid)))) {
      return;
    }
    if (fs::exists(each.path() / name)) return;
  }
  drop(root_ / "dev" / name);
  drop(root_ / "sys/block" / name);
  drop(root_ / "sys/class/block" / name);
  drop(root_ / "sys/dev/block" / numbers(kBlockMajor, block_minor(state, nsid)));
  drop(subsystem_folder(state) / name);
}

}  // namespace reclaim::emulator
