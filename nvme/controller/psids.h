// [nvme] psid_file: the PSIDs that are printed on drives' labels. Each is a secret: who knows it
// can erase the drive. No error and no log has one.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::nvme {

// The PSID of each drive by its serial number.
using Psids = std::map<std::string, std::string, std::less<>>;

// A line a drive: its serial number as Identify Controller has it, blanks, its PSID of 32 letters
// and digits; '#' begins a comment. Errc::invalid names `path` and line, what is wrong and what is
// accepted. Pure; thread: any.
[[nodiscard]] Result<Psids> parse_psids(std::string_view text, std::string_view path);

// Reads the file, which has to belong to `owner` and be readable for that user only. An error names
// the file. Blocking; thread: any but the loop's.
[[nodiscard]] Result<Psids> read_psids(const std::string& path, uid_t owner);

}  // namespace reclaim::nvme
