#include "config/claims.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim::config {
namespace {

const DeviceSpec* first_match(const std::vector<DeviceSpec>& specs, std::uint16_t vendor_id,
                              std::uint16_t product_id, const PciAddress& address) {
  const auto index = match(specs, vendor_id, product_id, address);
  return index ? &specs[*index] : nullptr;
}

bool contradict(const DeviceSpec& spec, const DeviceSpec& listed) {
  return spec.managed && listed.managed && *spec.managed != *listed.managed;
}

Error invalid(const PresentDrive& drive, std::string_view what) {
  return Error{Errc::invalid,
               fmt::format("InvalidConfiguration: the drive {} ({:04x}:{:04x}) {}",
                           to_string(drive.address), drive.vendor_id, drive.device_id, what)};
}

// Names the option that makes a second claimant a mistake, for the error's text.
std::string_view registering(const Settings& settings) {
  return settings.conductor.manage_providers ? "manage_providers" : "[agent_door]";
}

// Refuses two entries of one origin: neither is the other's refinement.
Status check_entries(const Settings& settings, const PresentDrive& drive) {
  const DeviceSpec* first = nullptr;
  for (const DeviceSpec& spec : settings.device_specs) {
    if (!matches(spec, drive.vendor_id, drive.device_id, drive.address)) continue;
    if (first != nullptr && first->service == spec.service) {
      return invalid(drive,
                     fmt::format("is claimed by two [nvme] device_spec entries, at {} and "
                                 "at {}: with {} only one may match",
                                 to_string(first->at), to_string(spec.at), registering(settings)));
    }
    if (first == nullptr || first->service != spec.service) first = &spec;
  }
  return Ok{};
}

Status check_drive(const Settings& settings, const PresentDrive& drive) {
  const DeviceSpec* spec =
      first_match(settings.device_specs, drive.vendor_id, drive.device_id, drive.address);
  if (spec == nullptr) return Ok{};
  const DeviceSpec* listed =
      first_match(settings.passthrough_whitelist, drive.vendor_id, drive.device_id, drive.address);
  if (settings.conductor.registers()) {
    if (Status single = check_entries(settings, drive); !single) return single;
    if (listed != nullptr) {
      return invalid(
          drive, fmt::format("is claimed by the [nvme] device_spec at {} and by the [pci] "
                             "passthrough_whitelist at {}: with {} only one of the two may "
                             "match",
                             to_string(spec->at), to_string(listed->at), registering(settings)));
    }
  }
  if (listed != nullptr && contradict(*spec, *listed)) {
    return invalid(drive, fmt::format("is managed = {} in the [nvme] device_spec at {} and "
                                      "managed = {} in the [pci] passthrough_whitelist at {}",
                                      *spec->managed, to_string(spec->at), *listed->managed,
                                      to_string(listed->at)));
  }
  return Ok{};
}

}  // namespace

bool managed_of(const DeviceSpec& spec, const std::vector<DeviceSpec>& whitelist,
                std::uint16_t vendor_id, std::uint16_t product_id, const PciAddress& address) {
  if (spec.managed) return *spec.managed;
  const DeviceSpec* listed = first_match(whitelist, vendor_id, product_id, address);
  return listed == nullptr || listed->managed.value_or(true);
}

void check_managed(const Settings& settings, std::vector<Problem>& problems,
                   std::vector<Problem>& warnings) {
  for (const DeviceSpec& spec : settings.device_specs) {
    for (const DeviceSpec& listed : settings.passthrough_whitelist) {
      if (!contradict(spec, listed) || !overlap(spec, listed)) continue;
      const bool same_devices =
          spec.vendor_id == listed.vendor_id && spec.product_id == listed.product_id;
      auto& list = same_devices ? problems : warnings;
      list.push_back(
          {spec.at, fmt::format("[nvme] device_spec: managed = {} contradicts managed = {} of the "
                                "[pci] passthrough_whitelist at {}{}",
                                *spec.managed, *listed.managed, to_string(listed.at),
                                same_devices ? "" : ", if a drive matches both")});
    }
  }
}

bool claims_need_drives(const Settings& settings) {
  if (settings.conductor.registers()) return true;
  std::vector<Problem> certain;
  std::vector<Problem> possible;
  check_managed(settings, certain, possible);
  return !possible.empty();
}

Status check_claims(const Settings& settings, const std::vector<PresentDrive>& drives) {
  for (const PresentDrive& drive : drives) {
    if (Status checked = check_drive(settings, drive); !checked) return checked;
  }
  return Ok{};
}

}  // namespace reclaim::config
