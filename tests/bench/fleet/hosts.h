// Several hosts' workers in one process: each the Daemon that ships, with its own connections to
// Redis, RabbitMQ and Placement, its own ledger and its own threads; only the drives are the
// bench's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reclaim::fleet {

struct HostsOptions {
  std::string config_file;  // of all hosts; each has its own host and state_path
  std::string folder;       // of the fleet: shelf, state paths
  std::size_t first = 0;    // of the fleet's hosts
  std::size_t hosts = 0;
  std::size_t drives = 0;  // of each
  std::int64_t erase_ms = 0;
};

// The words after the program's name that make a process of these; and back.
[[nodiscard]] std::vector<std::string> to_words(const HostsOptions& options);
[[nodiscard]] HostsOptions hosts_options(char** words);
inline constexpr const char* kHostsWord = "--serve-hosts";
inline constexpr int kHostsWords = 8;  // with the program's own name

// As many descriptors as this process may have, for those of many hosts; children have them, too.
void raise_descriptors();

// Serves until SIGTERM; the exit code. What goes wrong is said on standard error.
[[nodiscard]] int serve_hosts(const HostsOptions& options);

}  // namespace reclaim::fleet
