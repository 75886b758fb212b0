// The progress of what is done to a device, as one line. Pure; thread: any.
#pragma once

#include <cstddef>
#include <string>

#include "state/device/record.h"

namespace reclaim::cli {

// "0000:c1:00.0 nvme.sanitize_crypto [####....]  42%, about 12 s left WORDS"; with the host before
// it where that is not empty. Not wider than `width` columns; 0: as wide as it gets.
[[nodiscard]] std::string progress_bar(const std::string& host, const Record& record,
                                       std::size_t width = 0);

}  // namespace reclaim::cli
