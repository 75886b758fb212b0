// The texts in which the kernel says what is mounted and swapped on. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

namespace reclaim::nvme {

struct Mount {
  std::string number;  // "259:1" as mountinfo has it; of btrfs and the like it names no device
  std::string where;   // mount point, escapes undone
  std::string type;    // "ext4", "btrfs", …
  std::string source;  // "/dev/nvme0n1p1", "tmpfs", …
};

// /proc/PID/mountinfo (proc(5)). A line that does not have the documented fields is an error: a
// mount we cannot read may be of the drive we look at.
[[nodiscard]] Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

// The first column of /proc/swaps without its heading: files and devices.
[[nodiscard]] std::vector<std::string> parse_swaps(std::string_view text);

}  // namespace reclaim::nvme
