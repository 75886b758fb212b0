// The commands that read, send and activate a drive's firmware. The caller has looked at the
// guards; whether a command had its effect is read back, not believed.
// Thread: whichever owns the descriptor; each call blocks until the drive answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "nvme/controller/admin_state.h"
#include "nvme/firmware/plan.h"
#include "state/base/result.h"

namespace reclaim::nvme {

[[nodiscard]] Result<FirmwareReading> read_firmware(int controller_fd, std::uint32_t timeout_ms);

// Firmware Image Download of the whole image, in pieces of `piece_bytes` and a rest.
[[nodiscard]] Status download_firmware(int controller_fd, std::span<const std::byte> image,
                                       std::size_t piece_bytes, std::uint32_t timeout_ms,
                                       const Patience& patience,
                                       const std::function<void(std::size_t)>& on_sent);

// CA of Firmware Commit.
enum class CommitAction : std::uint8_t {
  replace = 0,  // what was downloaded into the slot, which stays as active as it is
  replace_and_activate_later = 1,  // with the next reset
  activate_later = 2,              // what the slot holds
  activate_at_once = 3,            // what was downloaded or, without, what the slot holds
};
enum class Committed : std::uint8_t {
  done,
  waits_for_reset,  // of the controller
  not_at_once,      // it takes too long for that; nothing was activated
};
// Errc::failed, with the remedy: refused, or the activation needs more than a controller reset.
[[nodiscard]] Result<Committed> commit_firmware(int controller_fd, std::uint8_t slot,
                                                CommitAction action, std::uint32_t timeout_ms);

// Asks the kernel to reset the controller. Pieces that were sent and not committed are gone, and
// firmware that waits is active.
[[nodiscard]] Status reset_controller(int controller_fd);

}  // namespace reclaim::nvme
