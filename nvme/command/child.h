// A command as a child process: restricted, in a process group and, where there is one, a cgroup of
// its own, so that all it started can be ended with it. Blocking; thread: the drive's, which has to
// live as long as the child: the kernel kills the child with the thread that began it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "nvme/command/command.h"
#include "nvme/command/options.h"
#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {

class CommandChild final {
 public:
  // Errc::failed: it could not be begun.
  static Result<CommandChild> start(const CommandOptions& options, const Command& command);
  // Ends all that it started.
  ~CommandChild();
  CommandChild(CommandChild&& other) noexcept;
  CommandChild& operator=(CommandChild&&) = delete;
  CommandChild(const CommandChild&) = delete;
  CommandChild& operator=(const CommandChild&) = delete;

  // Pipes from it; reading does not block.
  UniqueFd output;
  UniqueFd errors;

  // The child's wait status, once it has ended; it stays a zombie, so that its group's number is
  // its own.
  [[nodiscard]] std::optional<int> ended() const;
  void terminate() const;  // SIGTERM to its group
  // Kills its group and its cgroup, and reaps it. Idempotent.
  void kill();

 private:
  CommandChild(pid_t pid, std::string cgroup) : pid_(pid), cgroup_(std::move(cgroup)) {}

  pid_t pid_;
  std::string cgroup_;
};

}  // namespace reclaim::nvme
