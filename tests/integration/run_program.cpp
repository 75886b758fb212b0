#include "tests/integration/run_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace reclaim::testing {

Result<std::string> run_program(std::vector<std::string> words) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return Error{Errc::failed, "pipe2", errno};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int rc = posix_spawn(&pid, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string output;
  std::array<char, 4'096> buffer{};
  ssize_t count = 0;
  while (rc == 0 && (count = read(pipe_ends[0], buffer.data(), buffer.size())) > 0) {
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(pipe_ends[0]);
  if (rc != 0) return Error{Errc::failed, fmt::format("{} cannot be started", words.front()), rc};
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) {
    return Error{Errc::failed,
                 fmt::format("{} {} ended with wait status {}", words[1], words[2], status)};
  }
  return output;
}

}  // namespace reclaim::testing
