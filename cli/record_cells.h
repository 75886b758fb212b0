// A record as typed cells, so that JSON has numbers and booleans where the record does.
// Pure; thread: any.
#pragma once

#include "cli/format.h"
#include "state/device/record.h"

namespace reclaim::cli {

// The record's fields, in the order in which they are stored. JSON texts are cells of their own
// kind; an absent number is None.
[[nodiscard]] Fields record_cells(const Record& record);

}  // namespace reclaim::cli
