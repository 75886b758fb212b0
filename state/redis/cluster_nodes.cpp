#include "state/redis/cluster_nodes.h"

#include <algorithm>
#include <utility>

#include "state/base/check.h"
#include "state/redis/sentinel.h"
#include "state/redis/slot_search.h"

namespace reclaim {
namespace {

constexpr std::size_t kNodesMax = 1'024;

RedisGreeting role_greeting(bool calls) {
  return {
      {"ROLE"}, [](const RedisReply& role) { return check_is_master(role, "the cluster"); }, calls};
}

}  // namespace

std::string ClusterNodes::Node::failure() const {
  if (connected()) return "";
  const std::string& why = client->state().last_error;
  return why + cluster_remedy(why);
}

ClusterNodes::ClusterNodes(uv_loop_t* loop, const RedisOptions& options, bool calls,
                           std::function<void(const RedisAddress&)> on_change)
    : loop_(loop),
      options_(options),
      calls_(calls),
      on_change_(std::move(on_change)),
      start_timer_(loop) {}

ClusterNodes::Node* ClusterNodes::at(const RedisAddress& address) {
  if (Node* known = find(address); known != nullptr) return known;
  if (nodes_.size() >= kNodesMax) return nullptr;
  auto created =
      RedisClient::create(loop_, node_options(options_, address), silent_, role_greeting(calls_));
  CHECK(created.ok());  // these options were checked with the others
  Node& node = nodes_[describe(address)];
  node.address = address;
  node.client = *std::move(created);
  node.client->on_state([this, address](const RedisState&) {
    const auto on_change = on_change_;
    on_change(address);
  });
  start_timer_.after(0, [this] { start_next(); });
  return &node;
}

// One a round: it may fail at once, and who is told of it may end all of this.
void ClusterNodes::start_next() {
  const auto waits = [](const auto& entry) { return !entry.second.started; };
  const auto next = std::find_if(nodes_.begin(), nodes_.end(), waits);
  if (next == nodes_.end()) return;
  next->second.started = true;
  start_timer_.after(0, [this] { start_next(); });
  next->second.client->start();
}

ClusterNodes::Node* ClusterNodes::find(const RedisAddress& address) {
  const auto known = nodes_.find(describe(address));
  return known == nodes_.end() ? nullptr : &known->second;
}

void ClusterNodes::keep(const SlotMap& map) {
  std::erase_if(nodes_, [&map](const auto& entry) {
    const Node& node = entry.second;
    if (node.in_flight > 0) return false;
    return std::none_of(
        map.masters().begin(), map.masters().end(),
        [&node](const SlotMaster& master) { return master.address == node.address; });
  });
}

void ClusterNodes::close() {
  start_timer_.stop();
  for (auto& [name, node] : nodes_) node.client->close();
}

}  // namespace reclaim
