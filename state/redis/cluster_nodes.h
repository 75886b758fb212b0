// ClusterNodes: the connections to the nodes of a Redis Cluster, one a node, made when a node is
// first asked for. Each is asked with ROLE whether it is a master, and has the functions that are
// called.
//
// Thread: the loop's. Owns: the connections.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "state/base/log.h"
#include "state/redis/client.h"
#include "state/redis/options.h"
#include "state/redis/slots.h"

namespace reclaim {

class ClusterNodes final {
 public:
  struct Node {
    RedisAddress address;
    std::unique_ptr<RedisClient> client;
    bool started = false;
    std::size_t in_flight = 0;  // counted by who sends

    [[nodiscard]] bool connected() const { return client->state().connected; }
    // The reason why it is not connected; empty: it is, or the first attempt is under way.
    [[nodiscard]] std::string failure() const;
  };

  // `on_change`: a connection was made, lost, or could not be made. The nodes may be destroyed in
  // it. Options and loop outlive the nodes. `calls`: as RedisGreeting says.
  ClusterNodes(uv_loop_t* loop, const RedisOptions& options, bool calls,
               std::function<void(const RedisAddress&)> on_change);

  // Connects to it, later, if there is no connection. nullptr: too many are there already. Valid
  // until keep().
  [[nodiscard]] Node* at(const RedisAddress& address);
  // nullptr: there is none.
  [[nodiscard]] Node* find(const RedisAddress& address);
  // Ends the connections to those that have no slots and nothing in flight.
  void keep(const SlotMap& map);
  // Closes the connections. What is in flight is called back.
  void close();

 private:
  void start_next();

  uv_loop_t* loop_;
  const RedisOptions& options_;
  bool calls_;
  std::function<void(const RedisAddress&)> on_change_;
  NullLogger silent_;
  std::map<std::string, Node> nodes_;  // by "HOST:PORT"
  uv::Timer start_timer_;
};

}  // namespace reclaim
