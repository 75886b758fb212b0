// A real Redis as sentinels watch it: a master, its replica, and who puts one in the place of the
// other. Gone with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/redis_server.h"

namespace reclaim::test {

class RedisSentinels final {
 public:
  // The master alone.
  explicit RedisSentinels(std::vector<std::string> server_options = {});

  // A replica, and sentinels of which `quorum` have to agree. Returns when
  // each sentinel knows the replica.
  void start(std::size_t sentinels, std::size_t quorum);
  void add_sentinel(std::size_t quorum);

  [[nodiscard]] RedisServer& master() { return master_; }
  [[nodiscard]] const RedisServer& master() const { return master_; }
  [[nodiscard]] RedisServer& replica() { return *replica_; }
  [[nodiscard]] const RedisServer& replica() const { return *replica_; }
  [[nodiscard]] RedisServer& sentinel(std::size_t i) { return *sentinels_.at(i); }

  // Name the sentinels, behind an address at which nothing listens; the second as a [redis] url.
  [[nodiscard]] RedisOptions options() const;
  [[nodiscard]] std::string url() const;

 private:
  std::vector<std::string> server_options_;
  RedisServer master_;
  std::unique_ptr<RedisServer> replica_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

}  // namespace reclaim::test
