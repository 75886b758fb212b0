// A real Redis Cluster of the test's own: three masters, each with as many replicas as wanted, on
// loopback ports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/redis_server.h"

namespace reclaim::test {

class RedisNodes final {
 public:
  static constexpr std::size_t kMasters = 3;

  // Returns once every node says that the cluster is well and every replica has its master's data.
  // `options` are each server's.
  explicit RedisNodes(std::size_t replicas_each, const std::vector<std::string>& options = {});

  // Where nobody listens, and then each node.
  [[nodiscard]] RedisOptions options() const;

  // As they began. The slots are shared out evenly, in the masters' order.
  [[nodiscard]] RedisServer& master(std::size_t i) { return *servers_.at(i); }
  [[nodiscard]] RedisServer& replica_of(std::size_t i) { return *servers_.at(kMasters + i); }
  [[nodiscard]] std::size_t master_of(const std::string& key) const;
  [[nodiscard]] const std::vector<std::unique_ptr<RedisServer>>& all() const { return servers_; }

  // What redis-cli prints for the command, asked of whoever has the key's slot.
  std::string cli(const std::vector<std::string>& words) const;

  // Without a slot, known to all. Where there are no replicas, master() has it.
  std::size_t add_master();

  // One step each of moving the key's slot, as redis-cli --cluster reshard does it.
  void begin_move(const std::string& key, std::size_t from, std::size_t to);
  // Moves a key of it; false: there is none left.
  bool move_a_key(const std::string& key, std::size_t from, std::size_t to);
  void end_move(const std::string& key, std::size_t from, std::size_t to);

 private:
  void start_one();
  void wait_for_each_other() const;

  std::vector<std::string> server_options_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace reclaim::test
