// Tells what the worker finds of its certificates when it starts. Reads files; before the loop
// runs.
#pragma once

#include "config/settings.h"
#include "state/base/log.h"

namespace reclaim::listener {

// A certificate that was cut short or tampered with is said so at once, not when an auditor asks.
void report_certificates(const config::Settings& settings, Logger& log);

}  // namespace reclaim::listener
