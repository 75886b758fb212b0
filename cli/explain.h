// `reclaim explain`: reads RabbitMQ message bodies, one JSON text a line, and says of each what
// Reclaim would do and why, without a broker or a configuration. An operator's first question is
// "why did it not react". Thread: main's.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/bus/kick.h"

namespace reclaim::cli {

struct ExplainOptions {
  bool table = false;              // -f table: for people; otherwise one JSON object a line
  std::vector<std::string> files;  // "-" or none at all: standard input
  std::size_t body_bytes_max = kBodyBytesMax;
};

// One output line for each input line that is not blank. A line may be the body itself or a
// recorded message, {"exchange", "routing_key", "properties", "body"}, whose `body` text is then
// the body. A line that cannot be read is a "reject" with its reason. Returns the exit code: 0, or
// 1 when a file could not be read, which `err` names; the other files are explained all the same.
[[nodiscard]] int run_explain(const ExplainOptions& options, std::istream& in, std::ostream& out,
                              std::ostream& err);

// {"event_type": ..., "verdict": ..., "hosts": [...] or "any", "delays_s": [...], "why": ...};
// event_type is null where it could not be read.
[[nodiscard]] std::string explain_json(const Decision& decision);

// The body inside a recorded message, or `line` itself if it is none. The view points into `line`
// or `buffer`.
[[nodiscard]] std::string_view unwrap_recorded(std::string_view line, std::string& buffer);

}  // namespace reclaim::cli
