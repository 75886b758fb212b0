// The file of a firmware image: read whole and compared with its digest before a drive is sent
// anything of it. Blocking; thread: any but the loop's.
#pragma once

#include <cstddef>
#include <vector>

#include "nvme/firmware/options.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// The image's bytes, a multiple of 4. Errc::failed, with the remedy: it cannot be read, others than
// `options.owner` may write it, or its SHA-256 is not the configured one.
[[nodiscard]] Result<std::vector<std::byte>> read_image(const FirmwareOptions& options,
                                                        const FirmwareImage& image);

}  // namespace reclaim::nvme
