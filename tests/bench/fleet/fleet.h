// A fleet on this machine: Redis, RabbitMQ, Keystone and Placement, and processes that each serve
// several hosts. Nothing of it outlives the bench.
//
// Thread: the bench's.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/fleet/counting_placement.h"
#include "tests/bench/fleet/load.h"
#include "tests/bench/fleet/shelf.h"
#include "tests/integration/rabbitmq_cluster.h"
#include "tests/integration/redis_sentinels.h"
#include "tests/temp_folder.h"

namespace reclaim::fleet {

struct FleetOptions {
  std::size_t hosts = 100;
  std::size_t drives = 8;
  std::size_t known_hosts = 0;  // and so many of which Redis has the heartbeat, and no worker runs
  std::size_t hosts_a_process = 25;
  std::int64_t erase_ms = 2'000;
  std::int64_t survey_interval_s = 60;
  bool cluster = false;    // three RabbitMQ nodes with quorum queues; else one with classic ones
  bool sentinels = false;  // Redis is a master and its replica behind three; else one server
};

// All that at one moment.
struct Moment {
  std::int64_t at_ms = 0;
  RedisLoad redis;
  RabbitLoad rabbit;
  Asked asked;
  double workers_cpu_s = 0;  // of processes that ended, too
};

class Fleet final {
 public:
  explicit Fleet(const FleetOptions& options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  [[nodiscard]] const FleetOptions& options() const { return options_; }
  [[nodiscard]] std::size_t processes() const { return pids_.size(); }
  void start(std::size_t process);
  void end(std::size_t process, int signal);  // and waits
  void start_in_turn();  // each process when Redis knows the hosts of the one before
  void start_all();
  void stop_all();  // SIGTERM to all, and waits
  // Until each host has listed its tree since the processes of it were started.
  void wait_listed();

  // The tenants of `places` come, before the processes are started; and go, each with the
  // notification that Nova sends and RabbitMQ confirms: so many a second, or as fast as that is
  // with 0.
  void let(const std::vector<Place>& places);
  void delete_instances(const std::vector<Place>& places, std::size_t a_second);
  // From now on their drives refuse each sanitize.
  void break_drives(const std::vector<Place>& places);
  // Nova tells of their evacuation, and nothing else happens.
  void evacuate(const std::vector<Place>& places);
  // So many notifications, each for one of `known_hosts`; returns when they are acknowledged.
  void notify_known(std::size_t count);
  // Milliseconds from the notification of its instance to reserved = 0; of those that are clean.
  [[nodiscard]] std::vector<double> clean_ms() const;
  [[nodiscard]] std::size_t cleaned() const { return cleaned_; }
  // Drives that were given back dirty, or erased while a tenant had them, or more than once after
  // one tenant.
  struct Wrong {
    std::size_t released_dirty = 0;
    std::size_t erased_in_use = 0;
    std::size_t erased_again = 0;
  };
  [[nodiscard]] Wrong wrong() const;

  [[nodiscard]] Moment now() const;
  [[nodiscard]] std::uint64_t resident() const;  // of all processes together
  [[nodiscard]] CountingPlacement& placement() { return *placement_; }
  [[nodiscard]] testing::RabbitMqCluster& cluster() { return *cluster_; }
  // The master.
  [[nodiscard]] const test::RedisServer& redis() const;
  // SIGKILL; returns when sentinels have put the replica in its place.
  void kill_redis();
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  [[nodiscard]] std::size_t number_of(const Place& place) const;
  void start_bus();
  [[nodiscard]] std::vector<const testing::RabbitMqBroker*> nodes() const;
  [[nodiscard]] RedisLoad redis_load_so_far() const;
  void write_config() const;
  void write_known_hosts() const;

  FleetOptions options_;
  const TempFolder temp_;
  const std::string folder_ = temp_.path();
  test::RedisSentinels redis_;
  // Once the master was killed: what it and its replica had done by then.
  struct Failover {
    RedisLoad master;
    RedisLoad replica;
  };
  std::optional<Failover> failover_;
  std::unique_ptr<testing::RabbitMqBroker> broker_;    // one of these
  std::unique_ptr<testing::RabbitMqCluster> cluster_;  // two
  Shelf shelf_;
  std::vector<std::atomic<std::int64_t>> deleted_ms_;   // by drive
  std::vector<std::atomic<std::int64_t>> released_ms_;  // the same
  std::atomic<std::size_t> cleaned_ = 0;
  std::atomic<std::size_t> released_dirty_ = 0;
  std::unique_ptr<CountingPlacement> placement_;
  std::vector<pid_t> pids_;  // 0: it does not run
  double ended_cpu_s_ = 0;
};

// Looks a few times a second until it holds.
void wait_until(const std::function<bool()>& holds);

}  // namespace reclaim::fleet
