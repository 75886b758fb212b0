// The lock of a device in the host's own kernel, beside the one in Redis: flock on
// RUN_PATH/ADDRESS.lock. It needs no network, cannot expire while its holder lives, and ends with
// the process. The file stays; removing it would let two holders lock two files of one name.
//
// Thread: any; the lock belongs to the object.
#pragma once

#include <string>
#include <utility>

#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim {

class HostLock final {
 public:
  // Does not wait. Errc::busy names the process that holds it, as it named itself.
  static Result<HostLock> take(const std::string& run_path, const PciAddress& address);

 private:
  explicit HostLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace reclaim
