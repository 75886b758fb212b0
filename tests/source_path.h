// Where a file of the project lies, for tests that read it. One source knows the folder, so that a
// compiler cache serves every clone.
#pragma once

#include <string>
#include <string_view>

namespace reclaim {

// `path` from the top of the tree: source_path("docs/metrics.md").
std::string source_path(std::string_view path);

}  // namespace reclaim
