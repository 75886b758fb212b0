// How a command says that it failed.
#pragma once

#include <iosfwd>

#include "state/base/result.h"

namespace reclaim::cli {

// One line on `err`, and the exit code 1.
int complain(std::ostream& err, const Error& error);

}  // namespace reclaim::cli
