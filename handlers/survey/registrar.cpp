#include "handlers/survey/registrar.h"

#include <fmt/core.h>

#include "nvme/erase/policy.h"
#include "state/base/uuid.h"

namespace reclaim {

Result<placement::NewDevice> new_device(const std::string& host, const std::string& root_uuid,
                                        const nvme::DriveFacts& drive) {
  if (!drive.identity) {
    return Error{Errc::refused,
                 drive.problem.empty() ? "the controller does not answer yet" : drive.problem};
  }
  placement::NewDevice device;
  device.name = fmt::format("{}_{}", host, to_string(drive.address));
  device.uuid = provider_uuid(device.name);
  device.parent_uuid = root_uuid;
  device.resource_class =
      fmt::format("CUSTOM_NVME_{:04X}_{:04X}", drive.vendor_id, drive.device_id);
  device.traits = nvme::traits(drive.identity->capabilities);
  device.traits.insert(device.traits.begin(), "OWNER_CYBORG");
  return device;
}

}  // namespace reclaim
