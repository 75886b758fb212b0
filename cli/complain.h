// Tells that a command failed, and why.
#pragma once

#include <iosfwd>

#include "state/base/result.h"

namespace reclaim::cli {

// One line on `err`, and the exit code: 2 for Errc::usage, else 1.
int complain(std::ostream& err, const Error& error);

}  // namespace reclaim::cli
