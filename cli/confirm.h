// Asks on a terminal whether the operator means it.
#pragma once

#include <iosfwd>
#include <string>

#include "state/base/result.h"

namespace reclaim::cli {

// "QUESTION [y/N] ", and what is answered. Errc::refused: no, or standard input is not a terminal.
// `yes`: --yes was given, and nobody is asked.
[[nodiscard]] Status confirm(const std::string& question, bool yes, std::ostream& out);

}  // namespace reclaim::cli
