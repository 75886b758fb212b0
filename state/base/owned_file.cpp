#include "state/base/owned_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace reclaim {

Error refuse(const WantedFile& wanted, std::string_view why) {
  return Error{Errc::refused, fmt::format("{} {}: {}", wanted.thing, wanted.path, why)};
}

Status check_owner(const WantedFile& wanted, const std::string& path, const struct stat& found) {
  if (found.st_uid != wanted.owner) {
    return refuse(wanted, fmt::format("{} belongs to user {}, not to {}: `chown {} {}`", path,
                                      found.st_uid, wanted.owner, wanted.owner, path));
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refuse(wanted, fmt::format("{} can be written by others than its owner (mode {:o}): "
                                      "`chmod go-w {}`",
                                      path, found.st_mode & 07777U, path));
  }
  return Ok{};
}

Result<OwnedFile> open_owned_file(const WantedFile& wanted) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(wanted.path, error);
  if (error) return refuse(wanted, fmt::format("{}: correct the path", error.message()));
  OwnedFile file;
  file.path = real.string();
  file.fd = UniqueFd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found {};
  if (!file.fd.valid() || ::fstat(file.fd.get(), &found) != 0) {
    return refuse(wanted, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(found.st_mode)) return refuse(wanted, "is not a regular file");
  if (Status good = check_owner(wanted, file.path, found); !good) return std::move(good).error();
  file.mode = found.st_mode;
  file.bytes = static_cast<std::uint64_t>(found.st_size);
  if (file.bytes > wanted.bytes_max) {
    return refuse(
        wanted, fmt::format("has {} bytes, at most {} are accepted", file.bytes, wanted.bytes_max));
  }
  return file;
}

}  // namespace reclaim
