// An emulated host: one folder that holds dev/, sys/, proc/, run/, etc/, var/ as the shipped code
// is given them by injection, and state/ with the drives' memory and media. Any number of processes
// may open the same folder at once. Thread: any.
//
//   auto host = Host::create(root, {"address=0000:01:00.0,serial=S1,size=64M,duration_ms=200"});
//   host->fill("0000:01:00.0", 7);
//   host->set("0000:01:00.0", "fails_at", "40");
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "tests/emulator/host/drive_file.h"
#include "tests/emulator/host/pci_function.h"
#include "tests/emulator/host/settings.h"
#include "tests/emulator/host/sysfs_tree.h"

namespace reclaim::emulator {

// A device node of the emulated kernel, by its name under dev/.
struct Node {
  DriveFile* drive = nullptr;
  std::uint32_t nsid = 0;  // 0: the controller's character node
};

class Host final {
 public:
  // Makes the folder (which must be empty or absent) with these drives, bound to nvme and live.
  // Each drive is `key=value,…` with at least `address`; see kSettingsHelp for the keys.
  static Result<std::unique_ptr<Host>> create(const std::filesystem::path& root,
                                              const std::vector<std::string>& drives);
  static Result<std::unique_ptr<Host>> open(const std::filesystem::path& root);

  // A function that is no drive: `key=value,…` as pci_function.h has them.
  Status add_function(const std::string& description);
  [[nodiscard]] std::optional<PciFunction> function(const std::string& address) const;

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::vector<std::string> addresses();
  // The drive at `address`; owned by the host.
  Result<DriveFile*> drive(const std::string& address);
  // "nvme0" or "nvme0n1"; empty when no bound drive answers to that name.
  std::optional<Node> find_node(std::string_view name);

  // Writes a tenant's data over every namespace (or, with `blank`, gives the media back).
  Status fill(const std::string& address, std::uint64_t seed, bool blank = false);
  Status set(const std::string& address, const std::string& key, const std::string& value);
  // A second namespace of `bytes`; hidden = allocated, but attached to nobody.
  Result<std::uint32_t> add_namespace(const std::string& address, std::uint64_t bytes, bool hidden);
  // What writing to a driver's bind and unbind files does; "" is not a driver. Opened nodes go
  // dead.
  Status bind(const std::string& address, const std::string& driver);
  Status reset(const std::string& address);
  // What is due by now after a bind or reset with settle_ms: nodes appear, the controller is live.
  // The interposers call this with every open, stat and opendir below the root.
  void settle();
  // The function leaves the bus and comes back: another folder in sysfs, no override, nvme again.
  Status replug(const std::string& address);
  // Whether a guest has a device of this IOMMU group open.
  [[nodiscard]] bool group_in_use(const std::string& group);
  Status power_loss(const std::string& address);
  // Marks namespace 1 as used by the host: a line in mountinfo and swaps, a link in holders/;
  // O_EXCL is refused. An empty text takes the mark away.
  Status mount(const std::string& address, const std::string& mount_point);
  Status swap_on(const std::string& address, bool on);
  Status hold(const std::string& address, const std::string& holder);
  // Makes sysfs and dev agree with what the kernel knows of the drive; unless the drive is set to
  // need a rescan for that, the kernel looks at its namespaces again first.
  Status sync(DriveFile& drive);
  // The kernel looks at the namespaces again (NVME_IOCTL_RESCAN, rescan_controller).
  Status rescan(DriveFile& drive);

 private:
  explicit Host(std::filesystem::path root) : root_(std::move(root)), tree_(root_) {}
  Status add_drive(const std::string& description, std::uint32_t index);
  Status load();
  Status claim(const std::string& address, bool claimed);
  void note_settling();
  Status change_namespace(const std::string& address, const std::string& key, std::uint64_t value);

  std::filesystem::path root_;
  SysfsTree tree_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<DriveFile>> drives_;
};

}  // namespace reclaim::emulator
