#include "tests/integration/redis_sentinels.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

namespace reclaim::test {
namespace {

constexpr const char* kService = "cloud";  // as stack/redis.sh calls it

}  // namespace

RedisSentinels::RedisSentinels(std::vector<std::string> server_options)
    : server_options_(std::move(server_options)), master_(server_options_) {}

void RedisSentinels::start(std::size_t sentinels, std::size_t quorum) {
  std::vector<std::string> options = server_options_;
  options.insert(options.end(), {"--replicaof", "127.0.0.1 " + port_of(master_)});
  replica_ = std::make_unique<RedisServer>(std::move(options));
  for (std::size_t i = 0; i < sentinels; ++i) add_sentinel(quorum);
  wait_for([&] { return says(master_, {"INFO", "replication"}, "state=online"); });
  // A sentinel that does not know the replica yet has nothing to put in the master's place.
  for (const auto& sentinel : sentinels_) {
    wait_for([&] {
      return says(*sentinel, {"SENTINEL", "REPLICAS", kService}, port_of(*replica_));
    });
  }
}

void RedisSentinels::add_sentinel(std::size_t quorum) {
  sentinels_.push_back(std::make_unique<RedisServer>(
      std::vector<std::string>{port_of(master_), std::to_string(quorum)}, "sentinel"));
}

RedisOptions RedisSentinels::options() const {
  RedisOptions options = master_.options();
  options.host = "";
  options.port = 0;
  options.sentinel_service = kService;
  options.sentinels = {{"127.0.0.1", 1}};
  for (const auto& sentinel : sentinels_) options.sentinels.push_back(address_of(*sentinel));
  return options;
}

std::string RedisSentinels::url() const {
  std::string nodes;
  for (const RedisAddress& sentinel : options().sentinels) {
    nodes += (nodes.empty() ? "" : ",") + describe(sentinel);
  }
  return fmt::format("redis+sentinel://{}/{}/0", nodes, kService);
}

}  // namespace reclaim::test
