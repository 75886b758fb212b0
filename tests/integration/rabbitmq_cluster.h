// Three RabbitMQ nodes in a cluster, private to a test: loopback, an epmd of their own, and the
// strategy for partitions that clouds use (pause_minority).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/integration/rabbitmq_broker.h"

namespace reclaim::testing {

class RabbitMqCluster final {
 public:
  static constexpr std::size_t kNodes = 3;

  // Starts the nodes and joins them; false when one did not come up.
  [[nodiscard]] bool start();

  [[nodiscard]] RabbitMqBroker& node(std::size_t index) { return nodes_.at(index); }
  // The one at "127.0.0.1:PORT", as the link names it.
  [[nodiscard]] std::size_t at(const std::string& host) const;
  // Another one than these two.
  [[nodiscard]] static std::size_t beside(std::size_t one) { return (one + 1) % kNodes; }

  // "rabbit://USER:PASSWORD@HOST:PORT,USER:PASSWORD@HOST:PORT,.../".
  [[nodiscard]] std::string transport_url() const;
  // Options for the link: all nodes, a quorum queue of this name.
  [[nodiscard]] listener::AmqpOptions options(const std::string& queue) const;
  // Until this node says that all run, for a generous while at most.
  [[nodiscard]] bool wait_whole(std::size_t as_seen_by) const;
  // Whether the queue's leader is there, as this node says.
  [[nodiscard]] bool leads(std::size_t index, const std::string& queue) const;

  // A partition with this node alone on its side: no process is stopped, and the two others speak
  // with each other. Waits until the node has paused, as pause_minority says; false: it did not.
  [[nodiscard]] bool partition(std::size_t index) const;
  // Ends it, and waits until the node serves clients again.
  [[nodiscard]] bool heal(std::size_t index) const;

 private:
  [[nodiscard]] std::string name(std::size_t index) const;  // as Erlang has it
  // Until the node answers this to an Erlang expression, for a generous while at most.
  [[nodiscard]] bool wait_answer(std::size_t index, const std::string& expression,
                                 const std::string& answer) const;
  // Has the node evaluate Erlang expressions, in which `Others` are the other two; whether it did.
  [[nodiscard]] bool tell(std::size_t index, const std::string& expressions) const;

  std::array<RabbitMqBroker, kNodes> nodes_;
};

}  // namespace reclaim::testing
