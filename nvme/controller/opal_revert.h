// Two actions on a TCG drive as a whole: a revert by its PSID, and the block of its SID. The
// kernel's own revert (IOC_OPAL_PSID_REVERT_TPR) needs a namespace's node; these need none. Thread:
// whichever owns the descriptor; blocks until the drive answered.
#pragma once

#include <cstdint>
#include <string_view>

#include "nvme/controller/admin_state.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// Destroys all data of the drive. The caller has looked at the guards; whether it had its effect is
// read back, not believed. Tried once: after some wrong ones a drive bars its PSID.
// Errc::failed: the text has the remedy, and never the PSID; Errc::cancelled: told to stop, and a
// revert that was begun goes on in the drive.
[[nodiscard]] Status revert_by_psid(int controller_fd, std::uint32_t timeout_ms,
                                    const Patience& patience, StopFlag& stop, std::uint16_t com_id,
                                    std::string_view psid);

// Blocks authentication as SID until the next power cycle, so that a tenant cannot take ownership
// of a drive without an owner (TCG Storage Feature Set: Block SID Authentication). A reset does not
// lift the block, because a guest can reset the drive that it gets.
[[nodiscard]] Status block_sid(int controller_fd, std::uint32_t timeout_ms);

}  // namespace reclaim::nvme
