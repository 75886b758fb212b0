#include "tests/integration/redis_nodes.h"

#include "state/base/check.h"
#include "state/redis/slots.h"

namespace reclaim::test {
namespace {

std::string id_of(const RedisServer& server) {
  return server.cli({"CLUSTER", "MYID"});
}

std::size_t first_slot_of(std::size_t master) {
  return master * kSlotCount / RedisNodes::kMasters;
}

}  // namespace

RedisNodes::RedisNodes(std::size_t replicas_each, const std::vector<std::string>& options)
    // As quick as a busy machine lets it be without taking a node for dead that is only slow.
    : server_options_{"--cluster-enabled",      "yes",  "--cluster-replica-validity-factor", "0",
                      "--cluster-node-timeout", "4000", "--repl-diskless-sync-delay",        "0"} {
  server_options_.insert(server_options_.end(), options.begin(), options.end());
  const std::size_t count = kMasters * (1 + replicas_each);
  for (std::size_t i = 0; i < count; ++i) start_one();
  for (std::size_t i = 0; i < kMasters; ++i) {
    servers_[i]->cli({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first_slot_of(i)),
                      std::to_string(first_slot_of(i + 1) - 1)});
  }
  wait_for_each_other();
  for (std::size_t i = kMasters; i < count; ++i) {
    const std::string master = id_of(*servers_[i % kMasters]);
    wait_for([&] { return servers_[i]->cli({"CLUSTER", "REPLICATE", master}) == "OK"; });
  }
  for (const auto& server : servers_) {
    wait_for([&] { return says(*server, {"CLUSTER", "INFO"}, "cluster_state:ok"); });
  }
  for (std::size_t i = kMasters; i < count; ++i) {
    wait_for([&] { return says(*servers_[i], {"INFO", "replication"}, "master_link_status:up"); });
    // Whoever does not know of the replica does not vote for it.
    for (const auto& server : servers_) {
      wait_for([&] {
        return says(*server, {"CLUSTER", "REPLICAS", id_of(*servers_[i % kMasters])},
                    port_of(*servers_[i]));
      });
    }
  }
}

void RedisNodes::start_one() {
  servers_.push_back(std::make_unique<RedisServer>(server_options_));
  RedisServer& started = *servers_.back();
  started.cli({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(servers_.size())});
  servers_.front()->cli({"CLUSTER", "MEET", "127.0.0.1", port_of(started)});
}

void RedisNodes::wait_for_each_other() const {
  const std::string known = "cluster_known_nodes:" + std::to_string(servers_.size());
  for (const auto& server : servers_) {
    wait_for([&] { return says(*server, {"CLUSTER", "INFO"}, known); });
    wait_for([&] { return !says(*server, {"CLUSTER", "NODES"}, "handshake"); });
  }
}

std::size_t RedisNodes::add_master() {
  start_one();
  wait_for_each_other();
  const std::string state = "cluster_state:ok";
  wait_for([&] { return says(*servers_.back(), {"CLUSTER", "INFO"}, state); });
  return servers_.size() - 1;
}

RedisOptions RedisNodes::options() const {
  RedisOptions options = servers_.front()->options();
  options.host = "";
  options.cluster = {{"127.0.0.1", 1}};
  for (const auto& server : servers_) options.cluster.push_back(address_of(*server));
  return options;
}

std::size_t RedisNodes::master_of(const std::string& key) const {
  const std::size_t slot = slot_of_key(key);
  std::size_t master = 0;
  while (slot >= first_slot_of(master + 1)) ++master;
  return master;
}

std::string RedisNodes::cli(const std::vector<std::string>& words) const {
  std::string answer;
  for (const auto& server : servers_) {
    answer = server->cli(words);
    if (!answer.starts_with("MOVED") && !answer.starts_with("Could not connect")) break;
  }
  return answer;
}

void RedisNodes::begin_move(const std::string& key, std::size_t from, std::size_t to) {
  const std::string slot = std::to_string(slot_of_key(key));
  CHECK(master(to).cli({"CLUSTER", "SETSLOT", slot, "IMPORTING", id_of(master(from))}) == "OK");
  CHECK(master(from).cli({"CLUSTER", "SETSLOT", slot, "MIGRATING", id_of(master(to))}) == "OK");
}

bool RedisNodes::move_a_key(const std::string& key, std::size_t from, std::size_t to) {
  const std::string slot = std::to_string(slot_of_key(key));
  const std::string next = master(from).cli({"CLUSTER", "GETKEYSINSLOT", slot, "1"});
  if (next.empty()) return false;
  const std::string moved =
      master(from).cli({"MIGRATE", "127.0.0.1", port_of(master(to)), next, "0", "60000"});
  CHECK(moved == "OK" || moved == "NOKEY");
  return true;
}

void RedisNodes::end_move(const std::string& key, std::size_t from, std::size_t to) {
  const std::string slot = std::to_string(slot_of_key(key));
  const std::string id = id_of(master(to));
  CHECK(master(to).cli({"CLUSTER", "SETSLOT", slot, "NODE", id}) == "OK");
  CHECK(master(from).cli({"CLUSTER", "SETSLOT", slot, "NODE", id}) == "OK");
}

}  // namespace reclaim::test
