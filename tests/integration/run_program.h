// Runs a program to its end, for tests that start services by their own scripts.
#pragma once

#include <string>
#include <vector>

#include "state/base/result.h"

namespace reclaim::testing {

// Its standard output, or an error with its exit status. What it says on standard error goes where
// ours goes.
[[nodiscard]] Result<std::string> run_program(std::vector<std::string> words);

}  // namespace reclaim::testing
