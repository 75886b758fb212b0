// `reclaim config sample`: the annotated sample file, made from the schema in the manner of
// oslo-config-generator. config/reclaim.conf.sample is its output, and a test compares them.
#pragma once

#include <string>

namespace reclaim::config {

// The whole file. Every option is commented out and shows its default; secrets show none.
[[nodiscard]] std::string sample();

}  // namespace reclaim::config
