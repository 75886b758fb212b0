// A real redis-server in a temporary folder, started by stack/redis.sh as a child of the test and
// gone with it. And a loop that is turned until something holds.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "state/base/uv.h"
#include "state/redis/options.h"
#include "tests/temp_folder.h"

namespace reclaim::test {

class RedisServer final {
 public:
  // `command`: "run", or "sentinel", whose options are the master's port and the quorum.
  explicit RedisServer(std::vector<std::string> options = {}, std::string command = "run");
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // Returns once it answers.
  void start();
  void kill_hard();  // SIGKILL
  void freeze();     // SIGSTOP: connections stay, answers do not come
  void thaw();

  [[nodiscard]] RedisOptions options() const;  // over TCP
  [[nodiscard]] std::string socket() const { return folder_ + "/redis.sock"; }

  // What redis-cli prints for the command, asked over the unix socket.
  std::string cli(const std::vector<std::string>& words) const;

 private:
  const TempFolder temp_;
  const std::string folder_ = temp_.path();
  std::string command_;
  std::vector<std::string> options_;
  pid_t pid_ = -1;
};

// Whether its answer to the command has the text in it.
[[nodiscard]] bool says(const RedisServer& server, const std::vector<std::string>& words,
                        const std::string& text);
[[nodiscard]] std::string port_of(const RedisServer& server);
// As "127.0.0.1:7001".
[[nodiscard]] RedisAddress address_of(const RedisServer& server);

// Looks now and then until it holds; a check fails when it does not within two minutes.
void wait_for(const std::function<bool()>& holds);
// Turns the loop until `holds`, for at most `within_ms`; false when it never did.
bool run_until(uv::Loop& loop, const std::function<bool()>& holds, int within_ms = 300'000);
// Turns the loop for a while.
void run_for(uv::Loop& loop, int ms);

}  // namespace reclaim::test
