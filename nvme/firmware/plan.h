// Plans what has to be written and activated so that a drive's firmware is again what it was. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "nvme/controller/state_pages.h"
#include "nvme/firmware/options.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// A drive's firmware as it tells of it, and how it takes another one.
struct FirmwareReading {
  ControllerState state;  // identity and firmware only
  ControllerAbilities abilities;

  // True if the drive runs another revision than its active slot holds: the slot's was written
  // after the last activation, or waits for more than a reset.
  [[nodiscard]] bool runs_another() const;
  [[nodiscard]] std::uint8_t slots() const { return abilities.firmware_updates >> 1U & 7U; }
  [[nodiscard]] bool first_is_read_only() const { return (abilities.firmware_updates & 1U) != 0; }
  [[nodiscard]] bool activates_at_once() const { return (abilities.firmware_updates & 0x10U) != 0; }
};

struct SlotToRestore {
  FirmwareImage image;
  bool write = true;  // no: the slot is read only and holds the image's revision
  bool activate = false;
  std::string found;  // why, in words: what the slot was
};

struct FirmwarePlan {
  std::vector<SlotToRestore> slots;  // in this order; the active one first
  std::string found;                 // in words, where there is nothing to do
};

// All or nothing: where one of the slots that differ has no image, nothing is written, and it is
// left to the judgement of the controller's state. `enrolled`: nullptr, if there is no baseline;
// `allowed`: the revisions of device_spec. Errc::failed, with the remedy: there is an image, and
// the drive does not take it.
[[nodiscard]] Result<FirmwarePlan> plan_firmware(const FirmwareReading& now,
                                                 const ControllerState* enrolled,
                                                 const std::vector<std::string>& allowed,
                                                 const std::vector<FirmwareImage>& images);

// The bytes of an image that one command may carry: as the drive wants its pieces, at most as it
// takes at a time. Errc::failed: the two contradict each other.
[[nodiscard]] Result<std::size_t> piece_bytes(const ControllerAbilities& abilities);

}  // namespace reclaim::nvme
