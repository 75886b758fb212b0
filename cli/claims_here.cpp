#include "cli/claims_here.h"

#include <vector>

#include "config/claims.h"
#include "nvme/host/sysfs.h"

namespace reclaim::cli {

Status check_claims_here(const config::Settings& settings) {
  if (!config::claims_need_drives(settings)) return Ok{};
  const auto addresses = nvme::list_nvme_functions(settings.nvme.sysfs_root);
  if (!addresses) return addresses.error();
  std::vector<config::PresentDrive> present;
  present.reserve(addresses->size());
  for (const PciAddress& address : *addresses) {
    const auto drive = nvme::read_drive(settings.nvme.sysfs_root, address);
    if (!drive) return drive.error();
    present.push_back({address, drive->vendor_id, drive->device_id});
  }
  return config::check_claims(settings, present);
}

}  // namespace reclaim::cli
