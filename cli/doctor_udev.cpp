// reclaim doctor: the udev rules that keep the host off our drives.
#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "cli/doctor_checks.h"
#include "config/module_options.h"
#include "config/udev_rules.h"

namespace reclaim::cli {
namespace {

constexpr const char* kWhy =
    "without it the host's LVM, md and mounts take what a tenant left, and the drive is refused as "
    "in use: reclaim config udev > /etc/udev/rules.d/59-reclaim.rules, then udevadm control "
    "--reload && udevadm trigger --subsystem-match=block --action=change";

}  // namespace

void check_udev_rules(const config::Settings& settings, const std::vector<nvme::DriveFacts>& drives,
                      Chart& chart, const std::vector<std::string>& folders) {
  std::string path;
  for (const std::string& folder : folders) {
    path = folder + "/59-reclaim.rules";
    if (access(path.c_str(), F_OK) == 0) break;
    path.clear();
  }
  if (path.empty()) {
    return chart.warning("udev rules", "59-reclaim.rules is installed nowhere", kWhy);
  }
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const config::UdevListing listing = config::read_udev_rules(text);
  if (listing.lines.empty()) {
    return chart.warning("udev rules", path + " lists no drive: its examples are comments", kWhy);
  }
  const auto policy = config::device_policy_lookup(settings);
  std::string missing;
  std::size_t ours = 0;
  for (const nvme::DriveFacts& drive : drives) {
    if (!policy(drive.vendor_id, drive.device_id, drive.address)) continue;
    ours += 1;
    if (listing.lists({drive.address, drive.vendor_id, drive.device_id})) continue;
    missing += (missing.empty() ? "" : ", ") + to_string(drive.address);
  }
  if (!missing.empty()) {
    return chart.warning("udev rules", fmt::format("{} does not list {}", path, missing), kWhy);
  }
  chart.ok("udev rules", fmt::format("{} lists every drive of ours: {}", path, ours));
}

}  // namespace reclaim::cli
