#include "nvme/host/driver_binding.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "nvme/stop_flag.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kNoteBytesMax = 1024;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::string_view kNoteEnd = ".driver";

std::string function_path(const Options& options, const PciAddress& address) {
  return options.sysfs_root + "/bus/pci/devices/" + to_string(address);
}

std::string note_path(const Options& options, const PciAddress& address) {
  return fmt::format("{}/{}{}", options.run_path, to_string(address), kNoteEnd);
}

// One write(2), since each is a command of its own to the kernel.
Status write_once(const std::string& path, int flags, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0640));
  ssize_t done = -1;
  if (fd.valid()) {
    do {
      done = ::write(fd.get(), text.data(), text.size());
    } while (done < 0 && errno == EINTR);
  }
  if (done == static_cast<ssize_t>(text.size())) return Ok{};
  const int number = done < 0 ? errno : EIO;
  return Error{number == ENOENT ? Errc::not_found : Errc::failed,
               fmt::format("cannot write '{}' to {}: {}", text.substr(0, text.find('\n')), path,
                           std::strerror(number)),
               number};
}

// driver_override as text; the kernel prints "(null)" for none.
Result<std::string> read_override(const Options& options, const PciAddress& address) {
  auto text = read_file(function_path(options, address) + "/driver_override", kNoteBytesMax);
  if (text && *text == "(null)") text->clear();
  return text;
}

Status write_override(const Options& options, const PciAddress& address, const std::string& name) {
  // A line feed alone clears it: a write of no bytes never reaches the kernel's attribute.
  if (auto written =
          write_once(function_path(options, address) + "/driver_override", 0, name + "\n");
      !written) {
    return written;
  }
  const auto now = read_override(options, address);
  if (!now) return now.error();
  if (*now == name) return Ok{};
  return Error{Errc::failed, fmt::format("driver_override of {} is '{}' after '{}' was written",
                                         to_string(address), *now, name)};
}

bool is_name(std::string_view text) {
  return text.size() <= kNameBytesMax && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyz"
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-") == text.npos;
}

ino_t inode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Binds `wanted` by way of driver_override where `from` or nothing is bound now, and believes only
// the link.
Status bind(const Options& options, const PciAddress& address, const std::string& from,
            const std::string& wanted) {
  auto now = read_driver(options.sysfs_root, address);
  if (!now) return std::move(now).error();
  if (!now->empty() && *now != from && *now != wanted) {
    return Error{Errc::failed,
                 fmt::format("{} is bound to {}, where {} was left; another program binds it",
                             to_string(address), *now, from)};
  }
  if (auto overridden = write_override(options, address, wanted); !overridden) return overridden;
  if (!now->empty() && *now != wanted) {
    // Through the driver's own folder: if another is bound by now, the kernel refuses.
    const std::string unbind = options.sysfs_root + "/bus/pci/drivers/" + *now + "/unbind";
    if (auto done = write_once(unbind, 0, to_string(address)); !done) return done;
  }
  if (*now != wanted) {
    const std::string probe = options.sysfs_root + "/bus/pci/drivers_probe";
    if (auto done = write_once(probe, 0, to_string(address)); !done) return done;
  }
  // Probing "succeeds" when no driver took the device, too.
  now = read_driver(options.sysfs_root, address);
  if (!now) return std::move(now).error();
  if (*now == wanted) return Ok{};
  return Error{Errc::failed,
               fmt::format("{} was to be bound to {} and is bound to {}; see whether the driver's "
                           "module is loaded (`modprobe {}`) and what the kernel's log says",
                           to_string(address), wanted, now->empty() ? "no driver" : *now, wanted)};
}

}  // namespace

std::string encode_former_driver(const FormerDriver& former) {
  return fmt::format("driver={}\noverride={}\n", former.driver, former.driver_override);
}

Result<FormerDriver> decode_former_driver(std::string_view text) {
  FormerDriver former;
  const auto take = [&text](std::string_view key, std::string& into) {
    if (text.substr(0, key.size()) != key) return false;
    const std::size_t end = text.find('\n');
    into = std::string(text.substr(key.size(), end - key.size()));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return is_name(into);
  };
  const bool whole =
      take("driver=", former.driver) && take("override=", former.driver_override) && text.empty();
  if (whole && !former.driver.empty()) return former;
  return Error{Errc::failed,
               "it does not say which driver a drive had; remove the file and bind "
               "the drive by hand"};
}

Result<std::optional<FormerDriver>> read_former_driver(const Options& options,
                                                       const PciAddress& address) {
  const std::string path = note_path(options, address);
  auto text = read_file(path, kNoteBytesMax);
  if (!text && text.error().code == Errc::not_found) return std::optional<FormerDriver>{};
  if (!text) return std::move(text).error();
  auto former = decode_former_driver(*text);
  if (!former) return former.error().wrap(path);
  return std::optional(*std::move(former));
}

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
      sysfs_inode_(inode_of(function_path(options, drive.address))),
      log_(log) {}

Result<std::unique_ptr<Takeover>> Takeover::create(const Options& options, const SysDrive& drive,
                                                   Logger& log) {
  std::unique_ptr<Takeover> takeover(new Takeover(options, drive, log));
  auto noted = read_former_driver(options, drive.address);
  if (!noted) return std::move(noted).error();
  if (on_vfio(drive)) {
    if (auto held = takeover->hold_group(); !held) return std::move(held).error();
    auto overridden = read_override(options, drive.address);
    if (!overridden) return std::move(overridden).error();
    takeover->former_ = FormerDriver{drive.driver, *std::move(overridden)};
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
  // It was free when it was taken over; nothing of ours has kept it so since its nodes were closed.
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
  // Under its name at once or not at all: a worker that ends here leaves no half of a note.
  const std::string path = note_path(options_, address_);
  const std::string fresh = path + ".new";
  if (auto written = write_once(fresh, O_CREAT | O_TRUNC, encode_former_driver(former_));
      !written) {
    return written;
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return Error{Errc::failed, fmt::format("cannot create {}: {}", path, std::strerror(errno)),
                 errno};
  }
  taken_ = true;
  if (auto bound = bind(options_, address_, former_.driver, "nvme"); !bound) return bound;
  log_.info(log_name::kNvme,
            fmt::format("{} was taken over from {}", to_string(address_), former_.driver));
  return Ok{};
}

Status Takeover::probe_again() {
  return bind(options_, address_, former_.driver, "nvme");
}

Status Takeover::give_back() {
  if (!put_back_) {
    if (auto done = put_back(); !done) return done;
  }
  if (group_is_ours()) return Ok{};
  // Its node is udev's to make, a moment after the driver is bound.
  for (std::int64_t waited = 0;; waited += options_.driver_poll_ms) {
    auto held = hold_group();
    if (held || held.error().code == Errc::busy) {
      if (held) return held;
      return Error{Errc::refused, fmt::format("{}; another process had it before it was released",
                                              held.error().what)};
    }
    if (waited >= options_.driver_wait_ms) return Error{Errc::failed, held.error().what};
    StopFlag never_raised;
    (void)never_raised.wait(options_.driver_poll_ms);
  }
}

Status Takeover::put_back() {
  if (auto same = same_device(); !same) return same;
  if (auto bound = bind(options_, address_, "nvme", former_.driver); !bound) return bound;
  // Before anything else: from now on a guest could have it. Who was faster shows later.
  if (!group_is_ours()) (void)hold_group();
  if (auto back = write_override(options_, address_, former_.driver_override); !back) return back;
  const std::string path = note_path(options_, address_);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Error{Errc::failed, fmt::format("cannot remove {}: {}", path, std::strerror(errno)),
                 errno};
  }
  put_back_ = true;
  log_.info(log_name::kNvme,
            fmt::format("{} was given back to {}", to_string(address_), former_.driver));
  return Ok{};
}

Status Takeover::hold_group() {
  const auto drive = read_drive(options_.sysfs_root, address_);
  if (!drive) return drive.error();
  group_.reset();
  int number = ENOENT;
  if (drive->iommu_group >= 0) {
    for (const char* kind : {"", "noiommu-"}) {
      group_path_ = fmt::format("{}/vfio/{}{}", options_.dev_root, kind, drive->iommu_group);
      group_ = UniqueFd(::open(group_path_.c_str(), O_RDWR | O_CLOEXEC));
      if (group_.valid()) return Ok{};
      number = errno;
      if (number != ENOENT) break;
    }
  }
  if (number == EBUSY) {
    return Error{
        Errc::busy,
        fmt::format("{} is open; a guest still has the drive or another of its IOMMU group",
                    group_path_),
        EBUSY};
  }
  return Error{Errc::refused,
               fmt::format("cannot open the vfio group of {} (IOMMU group {}): {}; without it the "
                           "drive cannot be kept from others while its driver changes (a kernel "
                           "without CONFIG_VFIO_GROUP does not have it)",
                           to_string(address_), drive->iommu_group, std::strerror(number)),
               number};
}

// The node that stands there now is the one we hold: a group that went and came back has a new one,
// and no node gets the inode of ours while ours is open.
bool Takeover::group_is_ours() const {
  struct stat held {};
  struct stat there {};
  return group_.valid() && ::fstat(group_.get(), &held) == 0 &&
         ::stat(group_path_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

Status Takeover::same_device() const {
  const auto drive = read_drive(options_.sysfs_root, address_);
  if (!drive) return drive.error();
  if (drive->vendor_id == vendor_id_ && drive->device_id == device_id_ &&
      inode_of(function_path(options_, address_)) == sysfs_inode_) {
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
  if (group_is_ours()) return Ok{};
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
    if (name.size() <= kNoteEnd.size() || !name.ends_with(kNoteEnd)) continue;
    const auto address = parse_pci_address(name.substr(0, name.size() - kNoteEnd.size()));
    if (address) left.push_back(*address);
  }
  return left;
}

Status reset_function(const Options& options, const PciAddress& address) {
  return write_once(function_path(options, address) + "/reset", 0, "1");
}

}  // namespace reclaim::nvme
