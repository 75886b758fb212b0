// Whether the operator means it, asked on a terminal.
#pragma once

#include <iosfwd>
#include <string>

#include "state/base/result.h"

namespace reclaim::cli {

// "QUESTION [y/N] ", and what is answered. Errc::refused: no, or standard input is not a terminal.
// `yes`: --yes was given, and nobody is asked.
[[nodiscard]] Status confirm(const std::string& question, bool yes, std::ostream& out);

}  // namespace reclaim::cli
