// The vfio group of a PCI function, held open so that no guest can have the function. Blocking;
// thread: a drive thread's. Owns the descriptor.
//
// What the kernel does (drivers/vfio of 6.1 to 6.12):
// - A group can be open once; a second opener gets EBUSY. A guest's device descriptors keep the
//   group open, also when it has closed the group's own. From 6.6 on the group cannot be opened
//   either while any of its devices is bound to an iommufd through its cdev, and no cdev can be
//   bound to one while the group is open. So the open group shuts out both ways into the device.
// - The group's descriptor takes no reference on its devices: unbinding goes through while it is
//   open. With the last device of the group the kernel removes the node, and our descriptor is
//   dead; a later bind to vfio makes another group under the same number. While other functions of
//   the group stand on vfio, the group lives on and is ours. (Before 6.1 it lives on as long as it
//   is open.)
// - A descriptor of a *device*, by VFIO_GROUP_GET_DEVICE_FD or by opening its cdev, bound or not,
//   does take one: unbinding then sleeps, uninterruptibly after the first signal, until it is
//   closed. And a cdev that is merely opened excludes nobody. So a cdev can neither prove that a
//   device is free nor be held across an unbind; it is never opened here, and a kernel built
//   without CONFIG_VFIO_GROUP is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nvme/options.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {

class VfioGroup final {
 public:
  // `thing`: what the messages call it, "drive" or "device". Errc::busy: a guest has it;
  // Errc::refused: it cannot be opened.
  [[nodiscard]] Status hold(const Options& options, const PciAddress& address,
                            std::string_view thing);
  // Holds the group once more, and waits for its node, which is udev's to make a moment after the
  // driver is bound. Errc::refused: another process was faster; Errc::failed.
  [[nodiscard]] Status hold_again(const Options& options, const PciAddress& address,
                                  std::string_view thing);
  // The node that stands there now is the one we hold: a group that went and came back has a new
  // one, and no node gets the inode of ours while ours is open.
  [[nodiscard]] bool ours() const;

 private:
  UniqueFd fd_;
  std::string path_;
};

}  // namespace reclaim::nvme
