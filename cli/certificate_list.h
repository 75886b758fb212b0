// Certificates as a list: the columns of `certificate list`, and of each erasure in a report.
// Pure; thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/format.h"
#include "state/device/record.h"

namespace reclaim::cli {

// "Host" comes first where the list is of several hosts.
[[nodiscard]] Table certificate_table(bool with_host);
// A row of it. `host`: whose chain, or whose key of Redis, has it, whatever its text says.
[[nodiscard]] std::vector<Cell> certificate_row(bool with_host, const std::string& host,
                                                std::uint64_t sequence,
                                                const Certificate& certificate);

}  // namespace reclaim::cli
