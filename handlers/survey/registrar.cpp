#include "handlers/survey/registrar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "nvme/erase/policy.h"
#include "state/base/uuid.h"

namespace reclaim {

std::string class_of_drive(std::string_view vendor_id, std::string_view product_id) {
  std::string name = fmt::format("CUSTOM_NVME_{}_{}", vendor_id, product_id);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

Result<placement::NewDevice> new_device(const std::string& host, const std::string& root_uuid,
                                        const nvme::DriveFacts& drive, bool managed) {
  if (!drive.identity && managed) {
    return Error{Errc::refused,
                 drive.problem.empty() ? "the controller does not answer yet" : drive.problem};
  }
  placement::NewDevice device;
  device.name = fmt::format("{}_{}", host, to_string(drive.address));
  device.uuid = provider_uuid(device.name);
  device.parent_uuid = root_uuid;
  device.resource_class = class_of_drive(fmt::format("{:04x}", drive.vendor_id),
                                         fmt::format("{:04x}", drive.device_id));
  if (drive.identity) device.traits = nvme::traits(drive.identity->capabilities);
  device.traits.insert(device.traits.begin(), "OWNER_CYBORG");
  return device;
}

}  // namespace reclaim
