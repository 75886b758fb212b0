// Tells which changes of the configuration take effect while the worker runs: which devices are
// Reclaim's, and how they are cleaned ([nvme] and [devices] device_spec, [pci]
// passthrough_whitelist, [step:NAME], [policy:NAME], [clean], the order of the steps). Everything
// else is read at the start. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace reclaim::config {

// One line for each option that is not as it was, without values that may be secret.
struct Changes {
  std::vector<std::string> taken;  // in force from now on
  std::vector<std::string> later;  // in force with the next start
};
[[nodiscard]] Changes changes(const Settings& in_force, const Settings& read);

// `in_force`, with what can change as `read` has it.
[[nodiscard]] Settings with_changes(Settings in_force, const Settings& read);

}  // namespace reclaim::config
