// Runs what destroys, in stages. Pure; thread: the caller's.
#pragma once

#include <functional>
#include <vector>

#include "state/base/result.h"

namespace reclaim::cli {

// One after the other, each only if `permit` allows it right before. The first error ends it.
[[nodiscard]] inline Status run_permitted(const std::function<Status()>& permit,
                                          const std::vector<std::function<Status()>>& stages) {
  for (const auto& stage : stages) {
    if (auto permitted = permit(); !permitted) return permitted;
    if (auto done = stage(); !done) return done;
  }
  return Ok{};
}

}  // namespace reclaim::cli
