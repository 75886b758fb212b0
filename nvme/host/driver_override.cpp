#include "nvme/host/driver_override.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "nvme/host/sysfs.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kNoteBytesMax = 1024;
constexpr std::size_t kNameBytesMax = 64;

std::string note_path(const Options& options, const PciAddress& address) {
  return fmt::format("{}/{}{}", options.run_path, to_string(address), kFormerDriverEnd);
}

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

Error io_error(std::string_view what, const std::string& path) {
  const int number = errno;
  return Error{Errc::failed, fmt::format("cannot {} {}: {}", what, path, std::strerror(number)),
               number};
}

// Errc::failed: neither `from` nor `wanted` nor nothing is bound.
Result<std::string> read_expected(const Options& options, const PciAddress& address,
                                  const std::string& from, const std::string& wanted) {
  auto now = read_driver(options.sysfs_root, address);
  if (!now || now->empty() || *now == from || *now == wanted) return now;
  return Error{Errc::failed,
               fmt::format("{} is bound to {}, where {} was left; another program binds it",
                           to_string(address), *now, from.empty() ? "no driver" : from)};
}

// Through the driver's own folder: if another is bound by now, the kernel refuses.
Status unbind(const Options& options, const PciAddress& address, const std::string& driver) {
  return write_once(options.sysfs_root + "/bus/pci/drivers/" + driver + "/unbind", 0,
                    to_string(address));
}

}  // namespace

std::string encode_former_driver(const FormerDriver& former) {
  std::string text = fmt::format("driver={}\noverride={}\n", former.driver, former.driver_override);
  if (former.meanwhile != FormerDriver{}.meanwhile) {
    text += fmt::format("meanwhile={}\n", former.meanwhile);
  }
  return text;
}

Result<FormerDriver> decode_former_driver(std::string_view text) {
  FormerDriver former;
  const auto take = [&text](std::string_view key, std::string& into) {
    if (text.substr(0, key.size()) != key) return false;
    const std::size_t end = text.find('\n');
    into = std::string(text.substr(key.size(), end - key.size()));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return is_driver_name(into);
  };
  const bool both = take("driver=", former.driver) && take("override=", former.driver_override);
  // Only a drive's note lacks `meanwhile`: it had a driver, and is on nvme.
  const bool of_drive = both && text.empty() && !former.driver.empty();
  if (of_drive || (both && take("meanwhile=", former.meanwhile) && text.empty())) return former;
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

Status note_former_driver(const Options& options, const PciAddress& address,
                          const FormerDriver& former) {
  const std::string path = note_path(options, address);
  const std::string fresh = path + ".new";
  if (auto written = write_once(fresh, O_CREAT | O_TRUNC, encode_former_driver(former)); !written) {
    return written;
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return io_error("create", path);
  }
  return Ok{};
}

Status remove_former_driver(const Options& options, const PciAddress& address) {
  const std::string path = note_path(options, address);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error("remove", path);
  return Ok{};
}

bool is_driver_name(std::string_view text) {
  return text.size() <= kNameBytesMax && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyz"
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-") == text.npos;
}

std::string function_path(const Options& options, const PciAddress& address) {
  return options.sysfs_root + "/bus/pci/devices/" + to_string(address);
}

ino_t function_inode(const Options& options, const PciAddress& address) {
  struct stat info {};
  return ::stat(function_path(options, address).c_str(), &info) == 0 ? info.st_ino : 0;
}

Status write_attribute(const std::string& path, std::string_view text) {
  return write_once(path, 0, text);
}

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

Status bind_driver(const Options& options, const PciAddress& address, const std::string& from,
                   const std::string& wanted) {
  auto now = read_expected(options, address, from, wanted);
  if (!now) return std::move(now).error();
  if (auto overridden = write_override(options, address, wanted); !overridden) return overridden;
  if (!now->empty() && *now != wanted) {
    if (auto done = unbind(options, address, *now); !done) return done;
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

Status unbind_driver(const Options& options, const PciAddress& address, const std::string& from,
                     const std::string& override_name) {
  auto now = read_expected(options, address, from, "");
  if (!now) return std::move(now).error();
  if (auto overridden = write_override(options, address, override_name); !overridden) {
    return overridden;
  }
  if (!now->empty()) {
    if (auto done = unbind(options, address, *now); !done) return done;
  }
  now = read_driver(options.sysfs_root, address);
  if (!now) return std::move(now).error();
  if (now->empty()) return Ok{};
  return Error{Errc::failed, fmt::format("{} is still bound to {} after it was unbound; see the "
                                         "kernel's log",
                                         to_string(address), *now)};
}

}  // namespace reclaim::nvme
