// Finds the device of Cyborg's that each deployable belongs to (placement/cyborg/answers.h:
// connect_devices).
#include <algorithm>
#include <utility>

#include "placement/cyborg/answers.h"

namespace reclaim::placement {
namespace {

// Devices and deployables between which nothing says which belongs to which.
struct Unconnected {
  std::vector<const DeviceAnswer*> devices;
  std::vector<const DeployableAnswer*> deployables;
};

CyborgDevice of_device(const DeviceAnswer& device) {
  return {device.uuid, device.type, device.hostname, device.status, device.address, ""};
}

CyborgDevice joined(const DeviceAnswer& device, const DeployableAnswer& deployable) {
  CyborgDevice out = of_device(device);
  out.address = deployable.address;
  out.provider = deployable.provider;
  return out;
}

// One device stands for all that could be meant: with what they agree on, and with the worst status
// of them.
DeviceAnswer any_of(const std::vector<const DeviceAnswer*>& devices) {
  DeviceAnswer any = *devices.front();
  any.uuid.clear();
  for (const DeviceAnswer* each : devices) {
    if (each->type != any.type) any.type.clear();
    if (any.status == "enabled") any.status = each->status;
  }
  return any;
}

void add_unconnected(const Unconnected& left, std::vector<CyborgDevice>& out) {
  const bool one_device = std::all_of(
      left.deployables.begin(), left.deployables.end(),
      [&](const auto* each) { return each->device_id == left.deployables.front()->device_id; });
  if (left.devices.size() == 1 && !left.deployables.empty() && one_device) {
    for (const auto* each : left.deployables) out.push_back(joined(*left.devices.front(), *each));
    return;
  }
  for (const DeviceAnswer* each : left.devices) out.push_back(of_device(*each));
  for (const DeployableAnswer* each : left.deployables) {
    out.push_back(joined(left.devices.empty() ? DeviceAnswer{} : any_of(left.devices), *each));
  }
}

}  // namespace

std::vector<CyborgDevice> connect_devices(const std::vector<DeviceAnswer>& devices,
                                          const std::vector<DeployableAnswer>& deployables) {
  std::vector<CyborgDevice> out;
  Unconnected left;
  std::vector<const DeviceAnswer*> met;
  for (const DeployableAnswer& deployable : deployables) {
    const auto device = std::find_if(devices.begin(), devices.end(), [&](const auto& each) {
      return deployable.device_uuid.empty() ? each.address == deployable.address
                                            : each.uuid == deployable.device_uuid;
    });
    if (device == devices.end()) {
      left.deployables.push_back(&deployable);
      continue;
    }
    met.push_back(&*device);
    out.push_back(joined(*device, deployable));
  }
  for (const DeviceAnswer& device : devices) {
    if (std::find(met.begin(), met.end(), &device) != met.end()) continue;
    if (device.address) {
      out.push_back(of_device(device));  // no deployable is at its address
    } else {
      left.devices.push_back(&device);
    }
  }
  add_unconnected(left, out);
  return out;
}

}  // namespace reclaim::placement
