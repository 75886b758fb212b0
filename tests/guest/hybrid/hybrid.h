// A real PCI drive that can do what QEMU's cannot: Sanitize with its log page, and Namespace
// Management. These admin commands are answered here, by the emulator's controller model where it
// has them, and carried out on the real namespaces with real commands (Format NVM, attach, detach),
// so that real blocks behind a real PCI address go. Everything else goes to the kernel.
//
// The drive's medium stands behind three namespaces that QEMU made (machine.py, HYBRID): 1 is all
// of it, 2 its first half, 3 its second half. "Creating" one is choosing among them by size; a
// deleted one keeps its blocks, which the next one shows, as on a real drive.
//
// What is not: the kernel's own I/O is not refused while a sanitize runs.
// State: a file under /run, shared by processes and threads. Thread: any.
#pragma once

#include <linux/nvme_ioctl.h>

#include <cstdint>
#include <functional>

#include "tests/emulator/model/drive_state.h"

namespace reclaim::guest {

// Whether the descriptor is of a controller that this stands before (its serial is HYBRID).
[[nodiscard]] bool is_hybrid(int fd);

// As the kernel's NVME_IOCTL_ADMIN_CMD: 0, an NVMe status, or -1 with errno.
int hybrid_admin(int fd, nvme_passthru_cmd& command);

// For tests: durations and faults of the model, before or while a sanitize runs.
void with_hybrid(const std::function<void(emulator::DriveState&)>& work);
// All as QEMU made it but for the blocks: one namespace over all, attached; never sanitized,
// honest. `fd`: its controller.
void reset_hybrid(int fd);

}  // namespace reclaim::guest
