#include "tests/integration/rabbitmq_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

namespace reclaim::testing {

// The first one alone: the others copy its cookie and its epmd's port.
bool RabbitMqCluster::start() {
  for (RabbitMqBroker& node : nodes_) node.cluster_with(nodes_.front());
  if (!nodes_.front().start()) return false;
  std::array<bool, kNodes> started{true, false, false};
  std::vector<std::thread> starting;
  for (std::size_t i = 1; i < kNodes; ++i) {
    starting.emplace_back([this, i, &started] { started.at(i) = nodes_.at(i).start(); });
  }
  for (std::thread& each : starting) each.join();
  if (std::find(started.begin(), started.end(), false) != started.end()) return false;
  for (std::size_t i = 1; i < kNodes; ++i) {
    (void)nodes_.at(i).ctl("-q stop_app");
    (void)nodes_.at(i).ctl(fmt::format("-q join_cluster reclaim{}@localhost", node(0).port()));
    (void)nodes_.at(i).ctl("-q start_app");
  }
  return wait_whole(0);
}

std::size_t RabbitMqCluster::at(const std::string& host) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const RabbitMqBroker& node) {
    return host == fmt::format("127.0.0.1:{}", node.port());
  });
  CHECK(found != nodes_.end());
  return static_cast<std::size_t>(found - nodes_.begin());
}

std::string RabbitMqCluster::transport_url() const {
  std::string hosts;
  for (const RabbitMqBroker& node : nodes_) {
    const std::string url = node.transport_url();  // rabbit://USER:PASSWORD@HOST:PORT/
    const std::size_t from = url.find("//") + 2;
    hosts += (hosts.empty() ? "" : ",") + url.substr(from, url.rfind('/') - from);
  }
  return fmt::format("rabbit://{}/", hosts);
}

listener::AmqpOptions RabbitMqCluster::options(const std::string& queue) const {
  listener::AmqpOptions out = nodes_.front().options(queue);
  out.hosts.clear();
  for (const RabbitMqBroker& node : nodes_) {
    out.hosts.push_back(node.options(queue).hosts.front());
  }
  out.queue_type = listener::QueueType::quorum;
  out.durable = true;
  return out;
}

bool RabbitMqCluster::wait_whole(std::size_t as_seen_by) const {
  constexpr int kTries = 60;
  for (int i = 0; i < kTries; ++i) {
    const std::string text =
        nodes_.at(as_seen_by).ctl("-t 10 eval 'length(rabbit_mnesia:cluster_nodes(running)).'");
    if (std::strtoul(text.c_str(), nullptr, 10) == kNodes) return true;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return false;
}

}  // namespace reclaim::testing
