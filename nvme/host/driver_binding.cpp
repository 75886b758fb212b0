#include "nvme/host/driver_binding.h"

#include <fmt/core.h>

#include <utility>

namespace reclaim::nvme {
namespace {

constexpr std::string_view kThing = "drive";

}  // namespace
bool on_vfio(const SysDrive& drive) {
  // Linux 6.1 and later list a vfio device below its function; before, the name has to do.
  return !drive.driver.empty() && drive.driver != "nvme" &&
         (!drive.vfio_devices.empty() || drive.driver.find("vfio") != std::string::npos);
}

Takeover::Takeover(const Options& options, const SysDrive& drive, Logger& log)
    : options_(options),
      address_(drive.address),
      vendor_id_(drive.vendor_id),
      device_id_(drive.device_id),
      sysfs_inode_(function_inode(options, drive.address)),
      log_(log) {}

Result<std::unique_ptr<Takeover>> Takeover::create(const Options& options, const SysDrive& drive,
                                                   Logger& log) {
  std::unique_ptr<Takeover> takeover(new Takeover(options, drive, log));
  auto noted = read_former_driver(options, drive.address);
  if (!noted) return std::move(noted).error();
  if (on_vfio(drive)) {
    if (auto held = takeover->group_.hold(options, drive.address, kThing); !held) {
      return std::move(held).error();
    }
    auto overridden = read_override(options, drive.address);
    if (!overridden) return std::move(overridden).error();
    takeover->former_ = FormerDriver{drive.driver, *std::move(overridden), "nvme"};
    // An earlier worker got as far as the override.
    if (*noted && (*noted)->driver == drive.driver) takeover->former_ = **noted;
  } else if (*noted && (drive.driver.empty() || drive.driver == "nvme")) {
    takeover->former_ = **noted;
  } else {
    return Error{Errc::refused, fmt::format("{} is bound to {}, which is not a vfio driver",
                                            to_string(drive.address),
                                            drive.driver.empty() ? "no driver" : drive.driver)};
  }
  if (auto taken = takeover->take(); !taken) return std::move(taken).error();
  return takeover;
}

Status Takeover::undo(const Options& options, const SysDrive& drive, const FormerDriver& former,
                      Logger& log) {
  Takeover takeover(options, drive, log);
  takeover.former_ = former;
  return takeover.put_back();
}

Takeover::~Takeover() {
  if (!taken_ || put_back_) return;
  // The drive was free when it was taken over; nothing of ours has kept it so since its nodes were
  // closed.
  Status done = host_leaves_alone(options_, address_, options_.driver_wait_ms);
  if (done) done = put_back();
  if (!done) {
    log_.error(log_name::kNvme,
               fmt::format("{} was not given back to {} and stays as it is: {}; bind it by "
                           "hand, or restart the worker, which tries again",
                           to_string(address_), former_.driver, done.error().what));
  }
}

Status Takeover::take() {
  if (auto noted = note_former_driver(options_, address_, former_); !noted) return noted;
  taken_ = true;
  if (auto bound = bind_driver(options_, address_, former_.driver, "nvme"); !bound) return bound;
  log_.info(log_name::kNvme,
            fmt::format("{} was taken over from {}", to_string(address_), former_.driver));
  return Ok{};
}

Status Takeover::probe_again() {
  return bind_driver(options_, address_, former_.driver, "nvme");
}

Status Takeover::give_back() {
  if (!put_back_) {
    if (auto done = put_back(); !done) return done;
  }
  return group_.hold_again(options_, address_, kThing);
}

Status Takeover::put_back() {
  if (auto same = same_device(); !same) return same;
  auto bound = former_.driver.empty()
                   ? unbind_driver(options_, address_, former_.meanwhile, former_.driver_override)
                   : bind_driver(options_, address_, former_.meanwhile, former_.driver);
  if (!bound) return bound;
  // Before anything else: from now on a guest could have it. Who was faster shows later.
  if (!group_.ours()) (void)group_.hold(options_, address_, kThing);
  if (auto back = write_override(options_, address_, former_.driver_override); !back) return back;
  if (auto removed = remove_former_driver(options_, address_); !removed) return removed;
  put_back_ = true;
  log_.info(log_name::kNvme, fmt::format("{} was given back to {}", to_string(address_),
                                         former_.driver.empty() ? "no driver" : former_.driver));
  return Ok{};
}

Status Takeover::same_device() const {
  const auto drive = read_drive(options_.sysfs_root, address_);
  if (!drive) return drive.error();
  if (drive->vendor_id == vendor_id_ && drive->device_id == device_id_ &&
      function_inode(options_, address_) == sysfs_inode_) {
    return Ok{};
  }
  return Error{Errc::failed, fmt::format("the device at {} was pulled out and another, or the same "
                                         "again, plugged in",
                                         to_string(address_))};
}

Status Takeover::still_held() const {
  auto same = same_device();
  if (!same) return Error{Errc::refused, same.error().what, same.error().raw};
  const auto drive = read_drive(options_.sysfs_root, address_);
  if (!drive) return Error{Errc::refused, drive.error().what, drive.error().raw};
  if (!put_back_ || drive->driver != former_.driver) {
    return Error{Errc::refused,
                 fmt::format("{} is bound to {}, not to its former driver {}", to_string(address_),
                             drive->driver.empty() ? "no driver" : drive->driver, former_.driver)};
  }
  if (group_.ours()) return Ok{};
  return Error{Errc::refused,
               fmt::format("the vfio group of {} is not ours any more: the drive was unbound and "
                           "bound again since it was given back to {}",
                           to_string(address_), former_.driver)};
}

std::vector<PciAddress> drives_left_taken_over(const Options& options) {
  std::vector<PciAddress> left;
  const auto names = list_directory(options.run_path);
  if (!names) return left;
  for (const std::string& name : *names) {
    if (name.size() <= kFormerDriverEnd.size() || !name.ends_with(kFormerDriverEnd)) continue;
    const auto address = parse_pci_address(name.substr(0, name.size() - kFormerDriverEnd.size()));
    if (address) left.push_back(*address);
  }
  return left;
}

Status reset_function(const Options& options, const PciAddress& address) {
  return write_attribute(function_path(options, address) + "/reset", "1");
}

}  // namespace reclaim::nvme
