// Opening the device nodes of a drive that sysfs speaks of, and making sure that they are those.
// Blocking; thread: whichever is going to own the descriptor.
#pragma once

#include <sys/types.h>

#include <string>

#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {

// The opened node (S_IFCHR or S_IFBLK) must be the very device sysfs spoke of, not another that
// took its name.
[[nodiscard]] Status check_number(int fd, mode_t type, const std::string& path,
                                  const DeviceNumber& wanted);

// Checks a namespace's disk as check_number() does; the kernel must also say that it is this
// namespace.
[[nodiscard]] Status check_disk(int fd, const std::string& path, const SysNamespace& wanted);

// Read-only, as admin commands want it. Errc::busy where it may be there in a moment.
[[nodiscard]] Result<UniqueFd> open_controller_node(const Options& options, const SysDrive& sys);

}  // namespace reclaim::nvme
