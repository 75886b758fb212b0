// What is done with a fleet, and what is measured while it is. Each phase adds its figures.
#pragma once

#include <cstdint>

#include "tests/bench/fleet/figures.h"
#include "tests/bench/fleet/fleet.h"

namespace reclaim::fleet {

struct Scenario {
  FleetOptions fleet;
  std::size_t evacuations = 0;    // events that name no host
  std::size_t notifications = 0;  // of `known_hosts`
  std::size_t in_error = 0;       // instances whose drives refuse to be erased
  std::size_t deletions = 0;      // instances that are deleted
  std::size_t a_second = 0;       // so many; 0: as fast as RabbitMQ confirms
  std::int64_t idle_s = 60;  // how long the fleet is watched while nothing happens; 0: not at all
  bool kill = false;         // a tenth of the processes, in the middle of the storm
  bool kill_node = false;    // one of the cluster's nodes, which comes back
  bool partition_node = false;  // one that has no link with the others for a while
  bool kill_redis = false;      // the master, whose replica takes its place
  bool restart = false;         // all processes, at the end
};

[[nodiscard]] Figures run(const Scenario& scenario);

}  // namespace reclaim::fleet
