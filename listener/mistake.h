// Tells a caller what is wrong with a command line that is not understood. Thread: main.
#pragma once

#include <CLI/CLI.hpp>

namespace reclaim::listener {

// CLI11's own words, but for what it does not understand: it would only say what it misses. Of that
// the command or option that may be meant is named. Every mistake of the caller's ends with 2.
[[nodiscard]] int explain_mistake(const CLI::App& app, const CLI::ParseError& error);

}  // namespace reclaim::listener
