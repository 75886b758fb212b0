// Reads what this machine says of itself: its machine-id, Nova's compute_id, its full name, its
// boot. Does file I/O and a name lookup, so it is called before the loop runs. Thread: any.
#pragma once

#include "config/module_options.h"

namespace reclaim::config {

// Errc::invalid when the machine-id cannot be read, or a compute_id file is there but has no
// UUID.
[[nodiscard]] Result<MachineFacts> read_machine_facts(const Settings& settings);

}  // namespace reclaim::config
