// The options for running operators' commands. Passive data.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace reclaim::nvme {

struct CommandOptions {
  uid_t owner = 0;  // whose the command and the directories above it have to be
  // This process's own directory in the cgroup v2 tree, where it may make others; empty: none.
  std::string cgroup;
  std::int64_t grace_ms = 2'000;  // from SIGTERM to SIGKILL
  std::size_t line_bytes_max = std::size_t{64} * 1024;
  std::size_t output_bytes_max = std::size_t{4} * 1024 * 1024;
  std::size_t findings_max = 256;
  std::size_t errors_bytes_max = std::size_t{64} * 1024;  // of standard error that is logged
};

}  // namespace reclaim::nvme
