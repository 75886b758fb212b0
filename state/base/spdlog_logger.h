// The real Logger: oslo.log's line format with local time and its zone, or one JSON object a line,
// on standard error or in a file. Where standard error is the journal, each line begins with its
// priority instead of time and process. Only this translation unit sees spdlog.
#pragma once

#include <memory>
#include <string>

#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim {

struct LogOptions {
  bool debug = false;  // [DEFAULT] debug
  bool json = false;   // [DEFAULT] use_json
  std::string file;    // [DEFAULT] log_file; empty: standard error
};

[[nodiscard]] Result<std::unique_ptr<Logger>> make_spdlog_logger(const LogOptions& options);

}  // namespace reclaim
