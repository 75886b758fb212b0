#include "nvme/pci/driver_stay.h"

#include <fmt/core.h>

#include "nvme/host/driver_binding.h"

namespace reclaim::nvme {
namespace {

constexpr std::string_view kThing = "device";
// No driver's name.
constexpr const char* kNobodys = "reclaim-claimed";

std::string name_of(const std::string& driver) {
  return driver.empty() ? "no driver" : driver;
}

}  // namespace

DriverStay::DriverStay(const Options& options, const SysDrive& function, Logger& log)
    : options_(options),
      address_(function.address),
      vendor_id_(function.vendor_id),
      device_id_(function.device_id),
      sysfs_inode_(function_inode(options, function.address)),
      log_(log) {}

Result<std::unique_ptr<DriverStay>> DriverStay::create(const Options& options,
                                                       const SysDrive& function, Logger& log) {
  const auto left = read_former_driver(options, function.address);
  if (!left) return left.error();
  SysDrive now = function;
  if (*left) {
    if (auto undone = Takeover::undo(options, function, **left, log); !undone) {
      return undone.error().wrap(fmt::format(
          "an earlier worker left its driver changed; bind it as it should be and remove {}/{}{}",
          options.run_path, to_string(function.address), kFormerDriverEnd));
    }
    auto again = read_drive(options.sysfs_root, function.address);
    if (!again) return std::move(again).error();
    now = *std::move(again);
  }
  std::unique_ptr<DriverStay> stay(new DriverStay(options, now, log));
  if (auto begun = stay->begin(now); !begun) return std::move(begun).error();
  return stay;
}

Status DriverStay::begin(const SysDrive& function) {
  auto overridden = read_override(options_, address_);
  if (!overridden) return std::move(overridden).error();
  former_ = FormerDriver{function.driver, *std::move(overridden), function.driver};
  now_ = former_.driver;
  override_ = former_.driver_override;
  on_vfio_ = on_vfio(function);
  if (on_vfio_) return group_.hold(options_, address_, kThing);
  if (auto noted = note_former_driver(options_, address_, former_); !noted) return noted;
  noted_ = true;
  override_ = kNobodys;
  return write_override(options_, address_, override_);
}

DriverStay::~DriverStay() {
  Status done = put_back();
  if (done && noted_) done = let_go();
  if (!done) {
    log_.error(log_name::kNvme,
               fmt::format("{} was not put back to {} and stays as it is: {}; bind it by hand, or "
                           "restart the worker, which tries again",
                           to_string(address_), name_of(former_.driver), done.error().what));
  }
}

// The override is the last that is given up.
Status DriverStay::let_go() {
  if (auto same = untouched(); !same) return same;
  if (auto back = write_override(options_, address_, former_.driver_override); !back) return back;
  if (auto removed = remove_former_driver(options_, address_); !removed) return removed;
  noted_ = false;
  return Ok{};
}

Status DriverStay::use(const StepDriver& wanted) {
  std::string driver = former_.driver;
  if (wanted.kind == StepDriver::Kind::none) driver.clear();
  if (wanted.kind == StepDriver::Kind::named) driver = wanted.name;
  if (driver == now_) return Ok{};
  if (auto back = put_back(); !back) return back;
  if (driver == now_) return Ok{};
  if (auto same = untouched(); !same) return same;
  former_.meanwhile = driver;
  if (auto noted = note_former_driver(options_, address_, former_); !noted) return noted;
  noted_ = true;
  now_ = driver;
  override_ = driver.empty() ? kNobodys : driver;
  return driver.empty() ? unbind_driver(options_, address_, former_.driver, override_)
                        : bind_driver(options_, address_, former_.driver, driver);
}

Status DriverStay::put_back() {
  if (now_ == former_.driver) return Ok{};
  if (auto same = untouched(); !same) return same;
  if (auto unused = host_leaves_alone(options_, address_, options_.driver_wait_ms); !unused) {
    return Error{Errc::refused, unused.error().what, unused.error().raw};
  }
  // The override is what the next line leaves, also where it fails: the last try is the
  // destructor's.
  override_ = former_.driver.empty() ? kNobodys : former_.driver;
  auto bound = former_.driver.empty() ? unbind_driver(options_, address_, now_, override_)
                                      : bind_driver(options_, address_, now_, former_.driver);
  if (!bound) return bound;
  now_ = former_.driver;
  // Before anything else: from now on a guest could have it.
  auto held = on_vfio_ ? group_.hold_again(options_, address_, kThing) : Status(Ok{});
  override_ = on_vfio_ ? former_.driver_override : kNobodys;
  if (auto back = write_override(options_, address_, override_); !back) return back;
  former_.meanwhile = former_.driver;
  if (!on_vfio_) return note_former_driver(options_, address_, former_);
  if (auto removed = remove_former_driver(options_, address_); !removed) return removed;
  noted_ = false;
  return held;
}

// Checks that it is the same device, and that nobody else changed how it is bound.
Status DriverStay::untouched() const {
  const auto function = read_drive(options_.sysfs_root, address_);
  if (!function) return function.error();
  if (function->vendor_id != vendor_id_ || function->device_id != device_id_ ||
      function_inode(options_, address_) != sysfs_inode_) {
    return Error{Errc::failed, fmt::format("the device at {} was pulled out and another, or the "
                                           "same again, plugged in",
                                           to_string(address_))};
  }
  const auto overridden = read_override(options_, address_);
  if (!overridden) return overridden.error();
  if (*overridden == override_) return Ok{};
  return Error{Errc::failed,
               fmt::format("driver_override of {} is '{}', and was left as '{}': another program "
                           "bound the device meanwhile",
                           to_string(address_), *overridden, override_)};
}

Status DriverStay::still_held() const {
  const auto refused = [](const Error& error) {
    return Error{Errc::refused, error.what, error.raw};
  };
  if (auto same = untouched(); !same) return refused(same.error());
  const auto driver = read_driver(options_.sysfs_root, address_);
  if (!driver) return refused(driver.error());
  if (*driver != former_.driver) {
    return Error{Errc::refused,
                 fmt::format("{} is bound to {}, not to {} as before", to_string(address_),
                             name_of(*driver), name_of(former_.driver))};
  }
  if (!on_vfio_ || group_.ours()) return Ok{};
  return Error{Errc::refused, fmt::format("the vfio group of {} is not ours any more: the device "
                                          "was unbound and bound again meanwhile",
                                          to_string(address_))};
}

}  // namespace reclaim::nvme
