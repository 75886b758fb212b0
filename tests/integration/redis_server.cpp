#include "tests/integration/redis_server.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "state/base/check.h"
#include "tests/source_path.h"

namespace reclaim::test {
namespace {

constexpr int kNotStarted = 127;  // such as arguments that are too long

// Starts a program that writes to `output_fd`, or where the test does when that is below 0.
pid_t spawn(const std::vector<std::string>& words, int output_fd) {
  std::vector<char*> args;
  std::vector<std::string> copies = words;
  for (std::string& word : copies) args.push_back(word.data());
  args.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (output_fd >= 0) {
    dup2(output_fd, STDOUT_FILENO);
    dup2(output_fd, STDERR_FILENO);
  }
  execvp(args.front(), args.data());
  _exit(kNotStarted);
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> options, std::string command)
    : command_(std::move(command)), options_(std::move(options)) {
  start();
}

RedisServer::~RedisServer() {
  kill_hard();
}

void RedisServer::start() {
  CHECK(pid_ < 0);
  std::vector<std::string> words{source_path("tests/integration/stack/redis.sh"), command_,
                                 folder_};
  words.insert(words.end(), options_.begin(), options_.end());
  pid_ = spawn(words, -1);
  bool answers = false;
  for (int i = 0; i < 6'000 && !answers; ++i) {
    const std::string answer = cli({"PING"});
    answers = answer.find("PONG") != std::string::npos ||
              answer.find("NOAUTH") != std::string::npos ||
              answer.find("NOPERM") != std::string::npos;
    if (!answers) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(answers);
}

void RedisServer::kill_hard() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::freeze() {
  CHECK(kill(pid_, SIGSTOP) == 0);
}
void RedisServer::thaw() {
  CHECK(kill(pid_, SIGCONT) == 0);
}

RedisOptions RedisServer::options() const {
  RedisOptions options;
  int port = 0;
  std::ifstream(folder_ + "/redis.port") >> port;
  options.port = static_cast<std::uint16_t>(port);
  // Generous, since the machine may be busy; the tests of deadlines set their own.
  options.connect_timeout_ms = 120'000;
  options.command_timeout_ms = 120'000;
  options.reconnect_min_ms = 10;
  options.reconnect_max_ms = 100;
  return options;
}

std::string RedisServer::cli(const std::vector<std::string>& words) const {
  std::array<int, 2> ends{};
  CHECK(pipe(ends.data()) == 0);
  std::vector<std::string> all{"redis-cli", "-s", socket()};
  all.insert(all.end(), words.begin(), words.end());
  const pid_t pid = spawn(all, ends[1]);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != kNotStarted);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool says(const RedisServer& server, const std::vector<std::string>& words,
          const std::string& text) {
  return server.cli(words).find(text) != std::string::npos;
}

std::string port_of(const RedisServer& server) {
  return std::to_string(server.options().port);
}

RedisAddress address_of(const RedisServer& server) {
  return {"127.0.0.1", server.options().port};
}

void wait_for(const std::function<bool()>& holds) {
  for (int i = 0; i < 6'000; ++i) {
    if (holds()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(false && "it did not come to hold");
}

bool run_until(uv::Loop& loop, const std::function<bool()>& holds, int within_ms) {
  bool late = false;
  uv::Timer end(loop.raw());
  // One round of the loop runs timers first and then waits: what a timer did would go unseen.
  uv::Timer look(loop.raw());
  look.start(10, 10, [] {});
  end.start(static_cast<std::uint64_t>(within_ms), 0, [&late] { late = true; });
  while (!holds() && !late) loop.run_once();
  return holds();
}

void run_for(uv::Loop& loop, int ms) {
  run_until(
      loop, [] { return false; }, ms);
}

}  // namespace reclaim::test
