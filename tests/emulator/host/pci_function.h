// A PCI function of an emulated host that is no NVMe drive: a network card, or by its class
// anything else. What the card itself is (configuration space, ROM, settings) is in
// state/ADDRESS.function, one file each; what the kernel shows of it is below sys/. Any number of
// processes may use it.
//
// Keys of create and set:
//   address= group= class= vendor= device=    create only
//   driver=NAME        what a probe without an override binds, i40e unless said otherwise
//   bound=NAME         what is bound now ("" for none)
//   config=OFFSET:HEX  a register changed for good, as new firmware does
//   register=OFFSET:HEX  the same, until the next reset
//   rom=TEXT           the image becomes 55 aa and so many bytes of this seed; none, blank
//   rom_fails=1        reading it fails in its middle
//   correctable= nonfatal= fatal=             errors that the kernel counted
//   link=SPEED:WIDTH   as the registers code it
//   methods=flr+pm+bus reset methods; none
//   reset=ok|dead|slow|refused|other          what a reset comes to; slow: back after a second read
//   up=1 master=NAME upper=NAME               of its network interface, while its driver is bound
//   vfio_user=1        a guest has its group open
//   unbinds=0          the driver does not let go
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "tests/emulator/host/settings.h"
#include "tests/emulator/host/sysfs_tree.h"

namespace reclaim::emulator {

class PciFunction final {
 public:
  // `root`: of the host.
  PciFunction(const std::filesystem::path& root, const std::string& address);

  [[nodiscard]] bool exists() const;
  [[nodiscard]] Status create(const std::vector<Setting>& settings) const;
  [[nodiscard]] Status set(const std::string& key, const std::string& value) const;

  [[nodiscard]] std::string driver() const;
  // "" for none. Errc::failed: the driver that is bound does not let go.
  [[nodiscard]] Status bind(const std::string& driver) const;
  // A probe without an override binds this one.
  [[nodiscard]] std::string matching_driver() const { return get("driver"); }
  [[nodiscard]] bool vfio_user() const { return get("vfio_user") == "1"; }
  [[nodiscard]] std::filesystem::path vfio_device() const;  // its cdev's node
  [[nodiscard]] std::string group() const { return get("group"); }

  // What writing to an attribute of its folder does: 0, an errno, or -1 for a plain file.
  [[nodiscard]] int write(const std::string& attribute, const std::string& value) const;
  // Before its ROM is read from this offset: 0 or an errno.
  [[nodiscard]] int rom_error(std::uint64_t offset) const;
  // Before its configuration space is read.
  void config_is_read() const;

  // How often it was reset, by which method each time: "flr flr".
  [[nodiscard]] std::string resets() const { return get("resets"); }

 private:
  [[nodiscard]] std::string get(const std::string& key) const;
  void keep(const std::string& key, const std::string& value) const;
  [[nodiscard]] std::string config() const;
  void show_config(const std::string& bytes) const;
  Status change_register(const std::string& value, bool for_good) const;
  void show() const;
  void show_driver() const;
  int reset() const;

  std::filesystem::path root_;
  std::string address_;
  SysfsTree tree_;
  std::filesystem::path state_;
  std::filesystem::path folder_;  // in sysfs
};

}  // namespace reclaim::emulator
