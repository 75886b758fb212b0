// Breadth first through the states of the model: the first layer is what happens when nothing
// interferes, the next what happens when one thing does, at each of those states, and so on. States
// are kept by their digest and found again by replaying what led to them, for no world can be
// copied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/exhaustive/model.h"

namespace reclaim::exhaustive {

struct Choice {
  std::uint64_t after = 0;  // steps of the model, from its beginning
  Happening happening = Happening::crash;
};

struct Path {
  Start start = Start::first;
  std::vector<Choice> choices;
};

struct Layer {
  std::size_t states = 0;       // new ones
  std::size_t transitions = 0;  // happenings that were tried to get there
};

struct Found {
  std::vector<Layer> layers;
  std::string broken;         // empty: the invariants hold in every state
  Path path;                  // to it
  std::uint64_t at_step = 0;  // and where on it
};

// Searches up to `depth` happenings, and ends with the first broken invariant. A start after a
// cleaning counts as two of them, and so does what counts_as() says. Of extras that add happenings
// alone, only the paths with a happening of each: the others are those of fewer extras.
[[nodiscard]] Found search(std::size_t depth, const Extras& extras);

// What happens on the path, told step by step.
[[nodiscard]] std::string tell(const Path& path, const Extras& extras, std::uint64_t until);

}  // namespace reclaim::exhaustive
