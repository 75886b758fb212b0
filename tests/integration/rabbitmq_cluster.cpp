#include "tests/integration/rabbitmq_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "state/base/check.h"

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
    (void)nodes_.at(i).ctl(fmt::format("-q join_cluster {}", name(0)));
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
  return wait_answer(as_seen_by, "length(rabbit_mnesia:cluster_nodes(running)).",
                     std::to_string(kNodes));
}

bool RabbitMqCluster::wait_answer(std::size_t index, const std::string& expression,
                                  const std::string& answer) const {
  constexpr int kTries = 300;
  for (int i = 0; i < kTries; ++i) {
    if (nodes_.at(index).ctl(fmt::format("-t 10 eval '{}'", expression)) == answer + "\n") {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return false;
}

bool RabbitMqCluster::leads(std::size_t index, const std::string& queue) const {
  const std::string said = nodes_.at(index).ctl("-q list_queues name leader");
  return said.find(fmt::format("{}\t{}\n", queue, name(index))) != std::string::npos;
}

std::string RabbitMqCluster::name(std::size_t index) const {
  return fmt::format("reclaim{}@localhost", nodes_.at(index).port());
}

bool RabbitMqCluster::tell(std::size_t index, const std::string& expressions) const {
  std::string others;
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (i != index) others += fmt::format("{}'{}'", others.empty() ? "" : ",", name(i));
  }
  return nodes_.at(index).ctl(
             fmt::format("-t 60 eval \"Others = [{}], {}, ok.\"", others, expressions)) == "ok\n";
}

// erlang:set_cookie/2: the cookie by which this node lets another in and by which it asks to be let
// in, so that neither of the two can connect to the other. Both ways are closed before the links
// are cut, or one would be back at once. rabbitmqctl is a node of another name, and goes on.
bool RabbitMqCluster::partition(std::size_t index) const {
  return tell(index,
              "[erlang:set_cookie(Other, partitioned) || Other <- Others], "
              "[erlang:disconnect_node(Other) || Other <- Others]") &&
         wait_answer(index, "rabbit_boot_state:get().", "stopped");
}

// A node that has paused looks for the others by itself, once a second (await_cluster_recovery in
// rabbit_node_monitor.erl): nothing but the cookie is given back.
bool RabbitMqCluster::heal(std::size_t index) const {
  return tell(index, "[erlang:set_cookie(Other, erlang:get_cookie()) || Other <- Others]") &&
         wait_answer(index, "rabbit_boot_state:get().", "ready");
}

}  // namespace reclaim::testing
