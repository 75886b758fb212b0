#include "state/base/durable_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "state/base/log.h"

namespace reclaim::durable_file {
namespace {

constexpr std::size_t kSecretBytesMax = 16'384;

Error io_error(std::string_view what, std::string_view path, int code) {
  return Error{Errc::failed, fmt::format("cannot {} {}: {}", what, path, std::strerror(code)),
               code};
}

}  // namespace

Result<File> File::open(const std::string& path, int flags, unsigned mode) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode)));
  if (!fd.valid()) return io_error("open", path, errno);
  return File(std::move(fd), path);
}

Result<File> File::open_regular(const std::string& path, int flags) {
  Result<File> file = open(path, flags | O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return file;
  struct stat info {};
  if (::fstat(file->fd(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{Errc::invalid, path + " is not a regular file: put one there, or take it away"};
  }
  return file;
}

Status File::write_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Ok{};
}

Status File::sync() const {
  if (::fsync(fd_.get()) != 0) return io_error("fsync", path_, errno);
  return Ok{};
}

Status File::truncate(std::size_t bytes) const {
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
    return io_error("truncate", path_, errno);
  return Ok{};
}

Result<std::string> File::read_all(std::size_t bytes_max) const {
  std::string text;
  std::array<char, 65'536> piece{};
  while (true) {
    const ssize_t got = ::read(fd_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path_, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return Error{Errc::limit, fmt::format("{} is longer than {} bytes", path_, bytes_max)};
    }
  }
}

bool is_secret(unsigned mode, unsigned owner, unsigned group, unsigned own_user,
               unsigned own_group) {
  constexpr unsigned kGroupReads = 0040;
  if ((mode & 0077U) == 0) return true;
  // A group that may read is right only for a file of root's, and only if it is the group of a
  // service: root's own group may have members who are no service.
  return (mode & 0077U) == kGroupReads && owner == 0 && own_user != 0 && group == own_group;
}

Result<std::string> read_secret(const std::string& path) {
  const Result<File> file = File::open(path, O_RDONLY);
  if (!file.ok()) {
    if (file.error().raw == ENOENT) return Error{Errc::not_found, file.error().what, ENOENT};
    return file.error();
  }
  struct stat info {};
  const bool known = ::fstat(file->fd(), &info) == 0;
  if (known && !is_secret(info.st_mode, info.st_uid, info.st_gid, ::geteuid(), ::getegid())) {
    return Error{Errc::invalid,
                 fmt::format("{}: others than its owner may read this secret (mode {:04o}): "
                             "chmod 600 it{}, and consider a new one",
                             path, info.st_mode & 07777U,
                             ::geteuid() == 0 ? ""
                                              : " (640 where it is root's, and its group this "
                                                "service's own)")};
  }
  return file->read_all(kSecretBytesMax);
}

Status sync_folder(const std::string& folder) {
  const Result<File> opened = File::open(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) return opened.error();
  return opened->sync();
}

Status replace_file(const std::string& folder, const std::string& name, std::string_view bytes,
                    unsigned mode) {
  const std::string path = folder + "/" + name;
  const std::string beside = folder + "/." + name + ".tmp";
  Status written = Ok{};
  {
    // Its own file, whatever a crash, or another user of the folder, has left there.
    ::unlink(beside.c_str());
    const Result<File> file = File::open(beside, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (!file.ok()) return file.error();
    written = file->write_all(bytes);
    if (written.ok()) written = file->sync();
  }
  if (written.ok() && ::rename(beside.c_str(), path.c_str()) != 0) {
    written = io_error("rename to", path, errno);
  }
  if (!written.ok()) {
    ::unlink(beside.c_str());
    return written;
  }
  return sync_folder(folder);
}

}  // namespace reclaim::durable_file
