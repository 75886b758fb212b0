// reclaim device list: its columns, and which of them a narrow terminal goes without.
#pragma once

#include "cli/commands.h"

namespace reclaim::cli {

[[nodiscard]] Table device_list_columns(const DeviceListOptions& options);

}  // namespace reclaim::cli
