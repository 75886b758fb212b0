#include "state/redis/slot_search.h"

#include <utility>

#include "state/base/check.h"

namespace reclaim {

RedisOptions node_options(const RedisOptions& cluster, const RedisAddress& node) {
  RedisOptions options = cluster;
  options.cluster.clear();
  options.host = node.host;
  options.port = node.port;
  // Ours bounds what callers send; an ASKING goes before some of it.
  options.commands_in_flight_max = 2 * cluster.commands_in_flight_max + 1;
  return options;
}

std::string cluster_remedy(const std::string& said) {
  if (said.find("NOPERM") != std::string::npos) {
    return "; allow the user of [redis] url, on every node, the commands +cluster|slots, +asking "
           "and +role (docs/redis.md)";
  }
  if (said.find("cluster support disabled") != std::string::npos) {
    return "; this server is no node of a cluster: write redis:// in [redis] url";
  }
  return "";
}

Error no_cluster() {
  return {Errc::failed,
          "it knows of no slots: it is in no cluster yet, or was removed from it; take it out of "
          "[redis] url"};
}

std::vector<std::string> slots_question() {
  return {"CLUSTER", "SLOTS"};
}

SlotSearch::SlotSearch(uv_loop_t* loop, const RedisOptions& options, OnFound on_found)
    : loop_(loop), options_(options), on_found_(std::move(on_found)), timer_(loop) {}

void SlotSearch::begin(std::vector<RedisAddress> nodes) {
  CHECK(!nodes.empty());
  nodes_ = std::move(nodes);
  at_ = 0;
  said_.clear();
  node_.reset();
  timer_.after(0, [this] { ask_next(); });
}

void SlotSearch::ask_next() {
  const RedisAddress asked = nodes_.at(at_);
  const RedisGreeting greeting{slots_question(), [this, asked](const RedisReply& reply) -> Status {
                                 auto map = slot_map_from(reply, asked);
                                 if (!map) return std::move(map).error();
                                 if (map->masters().empty()) return no_cluster();
                                 map_ = *std::move(map);
                                 return Ok{};
                               }};
  auto created = RedisClient::create(loop_, node_options(options_, asked), silent_, greeting);
  CHECK(created.ok());  // these options were checked with the others
  node_ = *std::move(created);
  node_->on_state([this](const RedisState& state) { on_node(state); });
  node_->start();
}

void SlotSearch::on_node(const RedisState& state) {
  if (state.connected) return end(std::exchange(map_, SlotMap{}));
  said_ += (said_.empty() ? "" : "; ") + state.last_error + cluster_remedy(state.last_error);
  if (at_ + 1 == nodes_.size()) {
    return end(Error{Errc::unavailable, "no node tells the slots: " + std::exchange(said_, "")});
  }
  ++at_;
  node_.reset();  // it does not go on by itself
  timer_.after(0, [this] { ask_next(); });
}

void SlotSearch::end(const Result<SlotMap>& found) {
  at_ = nodes_.size();
  node_.reset();
  const auto on_found = on_found_;
  on_found(found);
}

}  // namespace reclaim
