// reclaim config udev: the rules for the drives that device_spec matches on this host.
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "config/udev_rules.h"

namespace reclaim::cli {

int run_config_udev(Session& session, const ConfigUdevOptions& /*options*/, std::ostream& out,
                    std::ostream& err) {
  const config::Settings& settings = session.settings();
  if (settings.device_specs.empty()) {
    err << "reclaim: no [nvme] device_spec: name the drives there first\n";
    return 1;
  }
  const auto found = session.wait<std::vector<nvme::DriveFacts>>(
      [&](auto done) { session.drives().discover({}, std::move(done)); });
  if (!found) return complain(err, found.error());
  std::vector<config::HostDrive> drives;
  for (const nvme::DriveFacts& drive : *found) {
    drives.push_back({drive.address, drive.vendor_id, drive.device_id});
  }
  out << config::udev_rules(settings.device_specs, drives);
  return 0;
}

}  // namespace reclaim::cli
