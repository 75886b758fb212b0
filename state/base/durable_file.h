// Writing files so that they are there, whole, after a crash, and reading secrets. Blocks: for the
// ledger's own thread and for the start.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim::durable_file {

// An open file and its path, for errors.
class File final {
 public:
  // Opens it as open(2) does, with O_CLOEXEC.
  static Result<File> open(const std::string& path, int flags, unsigned mode = 0640);
  // Opens one that others may have put there, to read it: a pipe is not waited for, and what is no
  // regular file is Errc::invalid. `flags` besides those: O_NOFOLLOW.
  static Result<File> open_regular(const std::string& path, int flags = 0);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // All of it; what was written of it before an error stays.
  [[nodiscard]] Status write_all(std::string_view bytes) const;
  [[nodiscard]] Status sync() const;
  [[nodiscard]] Status truncate(std::size_t bytes) const;
  [[nodiscard]] Result<std::string> read_all(std::size_t bytes_max) const;

 private:
  File(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

// A file that only its owner may read, or root and the one service that is to have it, by a group
// of that service's own (0640): one that others may is refused (Errc::invalid), one that is not
// there is Errc::not_found.
[[nodiscard]] Result<std::string> read_secret(const std::string& path);

// True if a file of that mode, owner and group is such a secret of the process's user and group.
[[nodiscard]] bool is_secret(unsigned mode, unsigned owner, unsigned group, unsigned own_user,
                             unsigned own_group);

// Makes `folder`/`name` hold `bytes`, or what it held before: written beside, fsynced, renamed, and
// the folder fsynced.
[[nodiscard]] Status replace_file(const std::string& folder, const std::string& name,
                                  std::string_view bytes, unsigned mode = 0640);
[[nodiscard]] Status sync_folder(const std::string& folder);

}  // namespace reclaim::durable_file
