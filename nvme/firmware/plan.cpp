#include "nvme/firmware/plan.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nvme/controller/firmware_slots.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;  // of MDTS and FWUG
constexpr std::size_t kPieceBytesMax = std::size_t{64} * 1024;
constexpr std::uint8_t kAnyPieces = 0xff;
constexpr unsigned kShiftMax = 16;
constexpr std::uint16_t kFirmwareCommands = 1U << 2U;  // OACS

struct Planner {
  const FirmwareReading& now;
  const FirmwareState* enrolled;
  const std::vector<std::string>& allowed;
  const std::vector<FirmwareImage>& images;
  FirmwarePlan plan;
  std::vector<std::string> missing;

  // By the list, any image for the slot will do whose revision the list names.
  [[nodiscard]] const FirmwareImage* image_for(std::uint8_t slot, const std::string& wanted) const {
    const auto found = std::find_if(images.begin(), images.end(), [&](const FirmwareImage& image) {
      const bool fits = allowed.empty() ? image.revision == wanted
                                        : std::find(allowed.begin(), allowed.end(),
                                                    image.revision) != allowed.end();
      return fits && image.slot == slot && image.model == now.state.model;
    });
    return found == images.end() ? nullptr : &*found;
  }

  void restore(std::uint8_t slot, const std::string& wanted, bool activate, std::string found) {
    const FirmwareImage* const image = image_for(slot, wanted);
    if (image == nullptr) return missing.push_back(std::move(found));
    plan.slots.push_back(SlotToRestore{*image, true, activate, std::move(found)});
  }
};

std::string words(const SlotDifference& each) {
  return each.not_allowed
             ? fmt::format("slot {} held {}, which is not allowed", each.slot, each.revision)
             : fmt::format("slot {} held '{}', at enrolment '{}'", each.slot, each.revision,
                           each.enrolled);
}

std::string words_of_activation(const FirmwareReading& now, std::uint8_t wanted_active) {
  const FirmwareState& firmware = now.state.firmware;
  if (activation_waits(firmware)) {
    return fmt::format("slot {} was active, slot {} was to be after the next reset",
                       firmware.active_slot, firmware.next_slot);
  }
  if (firmware.active_slot != wanted_active) {
    return fmt::format("slot {} was active, at enrolment slot {}", firmware.active_slot,
                       wanted_active);
  }
  return fmt::format("slot {} was active, and the drive ran '{}'", firmware.active_slot,
                     now.state.firmware_revision);
}

Error failed(std::string what) {
  return Error{Errc::failed, "firmware: " + std::move(what)};
}

// Checks that the drive can restore the slot, and whether it has to be written for that.
Status fit(const FirmwareReading& now, SlotToRestore& each) {
  const std::uint8_t slot = each.image.slot;
  if ((now.state.oacs & kFirmwareCommands) == 0) {
    return failed(each.found + "; the drive takes no firmware: replace it");
  }
  if (slot > now.slots()) {
    return failed(
        fmt::format("{}; the drive lets {} slots be written: correct [nvme] "
                    "firmware_images, or replace it",
                    each.found, now.slots()));
  }
  if (slot != 1 || !now.first_is_read_only()) return Ok{};
  const std::vector<std::string>& revisions = now.state.firmware.revisions;
  if (revisions.empty() || revisions.front() != each.image.revision) {
    return failed(each.found + "; slot 1 is read only: replace the drive");
  }
  each.write = false;
  return Ok{};
}

std::string as_it_is(const Planner& planner) {
  if (planner.enrolled == nullptr && planner.allowed.empty()) {
    return "no enrolment baseline: there is nothing to compare with";
  }
  return planner.allowed.empty() ? "as enrolled" : "every revision is an allowed one";
}

}  // namespace

bool FirmwareReading::runs_another() const {
  const FirmwareState& firmware = state.firmware;
  return firmware.active_slot == 0 || firmware.active_slot > firmware.revisions.size() ||
         firmware.revisions[firmware.active_slot - 1U] != state.firmware_revision;
}

Result<FirmwarePlan> plan_firmware(const FirmwareReading& now, const ControllerState* enrolled,
                                   const std::vector<std::string>& allowed,
                                   const std::vector<FirmwareImage>& images) {
  const FirmwareState& firmware = now.state.firmware;
  Planner planner{now, enrolled != nullptr ? &enrolled->firmware : nullptr, allowed, images, {},
                  {}};
  const std::vector<SlotDifference> differing =
      differing_slots(firmware, planner.enrolled, allowed);
  const bool measured = planner.enrolled != nullptr || !allowed.empty();
  // By the list, whichever of its revisions runs may run.
  const std::uint8_t wanted_active = allowed.empty() && planner.enrolled != nullptr
                                         ? planner.enrolled->active_slot
                                         : firmware.active_slot;
  const bool switched = measured && (firmware.active_slot != wanted_active ||
                                     activation_waits(firmware) || now.runs_another());
  const auto active = std::find_if(
      differing.begin(), differing.end(),
      [wanted_active](const SlotDifference& each) { return each.slot == wanted_active; });
  if (active != differing.end()) {
    planner.restore(wanted_active, active->enrolled, true, words(*active));
  } else if (switched) {
    const std::string& holds = wanted_active <= firmware.revisions.size() && wanted_active != 0
                                   ? firmware.revisions[wanted_active - 1U]
                                   : firmware.revisions.front();
    planner.restore(wanted_active, holds, true, words_of_activation(now, wanted_active));
  }
  for (const SlotDifference& each : differing) {
    if (each.slot != wanted_active) planner.restore(each.slot, each.enrolled, false, words(each));
  }
  if (!planner.missing.empty()) {
    planner.plan.slots.clear();
    planner.plan.found =
        fmt::format("{}; [nvme] firmware_images has no image of {} for it: left as it is",
                    fmt::join(planner.missing, ", "), now.state.model);
    return planner.plan;
  }
  if (planner.plan.slots.empty()) planner.plan.found = as_it_is(planner);
  for (SlotToRestore& each : planner.plan.slots) {
    if (auto fits = fit(now, each); !fits) return std::move(fits).error();
  }
  return planner.plan;
}

Result<std::size_t> piece_bytes(const ControllerAbilities& abilities) {
  const bool told = abilities.update_pieces != 0 && abilities.update_pieces != kAnyPieces;
  const std::size_t unit = told ? abilities.update_pieces * kPageBytes : kPageBytes;
  const bool limited = abilities.transfer_max != 0 && abilities.transfer_max < kShiftMax;
  const std::size_t takes =
      limited ? kPageBytes << abilities.transfer_max : kPageBytes << kShiftMax;
  if (unit > takes) {
    return failed(
        fmt::format("the drive wants pieces of {} bytes and takes {} at a time: look for "
                    "an update of its vendor's, or replace it",
                    unit, takes));
  }
  return std::max(unit, std::min(takes, kPieceBytesMax) / unit * unit);
}

}  // namespace reclaim::nvme
