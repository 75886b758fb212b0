// Files of which the owner counts: a file that others may write says nothing.
// Blocking; thread: any but the loop's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "state/base/result.h"
#include "state/base/unique_fd.h"

struct stat;

namespace reclaim {

// The file that is wanted, and its name in errors: "command /usr/bin/x: …".
struct WantedFile {
  std::string_view thing;
  std::string path;
  uid_t owner = 0;
  std::uint64_t bytes_max = 0;
};

// Open for reading. `path` is the one behind all links.
struct OwnedFile {
  UniqueFd fd;
  std::string path;
  std::uint64_t bytes = 0;
  mode_t mode = 0;
};

// Errc::refused, with the remedy, where it is not a regular file of the owner that only the owner
// may write, or has too many bytes.
[[nodiscard]] Result<OwnedFile> open_owned_file(const WantedFile& wanted);

// Checks the owner of anything that was looked at, and that nobody else may write it. `path` is its
// own.
[[nodiscard]] Status check_owner(const WantedFile& wanted, const std::string& path,
                                 const struct stat& found);

[[nodiscard]] Error refuse(const WantedFile& wanted, std::string_view why);

}  // namespace reclaim
