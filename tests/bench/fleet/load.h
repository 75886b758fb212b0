// What the services of a fleet have done so far: counters that each keeps itself, and processor
// time from the kernel's books. Thread: the bench's; each look blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/bench/fleet/counting_placement.h"
#include "tests/integration/rabbitmq_broker.h"
#include "tests/integration/redis_server.h"

namespace reclaim::fleet {

// Of Redis' INFO.
struct RedisLoad {
  std::map<std::string, std::uint64_t> commands;  // calls, by name
  std::uint64_t total = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t connections = 0;  // now
  double cpu_s = 0;
};
[[nodiscard]] RedisLoad redis_load(const test::RedisServer& redis);

// Of RabbitMQ's own global counters, over the nodes that answer.
struct RabbitLoad {
  std::uint64_t received = 0;
  std::uint64_t delivered = 0;
  std::uint64_t redelivered = 0;
  std::uint64_t acknowledged = 0;
  double cpu_s = 0;
};
[[nodiscard]] RabbitLoad rabbit_load(const std::vector<const testing::RabbitMqBroker*>& nodes);

// Seconds of processor time of a process so far, with all its threads; 0 where it is gone.
[[nodiscard]] double cpu_s(pid_t pid);
[[nodiscard]] std::uint64_t resident_bytes(pid_t pid);

}  // namespace reclaim::fleet
