// A private RabbitMQ for tests (stack/rabbitmq.sh) and a plain, blocking client to look at it with,
// which shares no code with the link under test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listener/amqp/library.h"
#include "listener/amqp/options.h"
#include "tests/temp_folder.h"

namespace reclaim::testing {

class RabbitMqBroker final {
 public:
  RabbitMqBroker();  // makes the directory; start() starts
  // A node that a cluster may have. Before start(); `first` is the cluster's first one, or itself.
  void cluster_with(const RabbitMqBroker& first) { first_node_ = first.directory_; }
  ~RabbitMqBroker();
  // One that another process started and will stop.
  [[nodiscard]] static RabbitMqBroker at(int port) { return RabbitMqBroker(port); }
  RabbitMqBroker(const RabbitMqBroker&) = delete;
  RabbitMqBroker& operator=(const RabbitMqBroker&) = delete;

  [[nodiscard]] bool start();  // also again, after stop() or kill(), on the same ports
  void stop();
  void kill();
  void kill_node();  // SIGKILL, and the epmd that the others of a cluster use goes on
  void pause();      // SIGSTOP: it lives and says nothing
  void resume();

  // What rabbitmqctl of this node says to these words, as a shell takes them; empty: it failed.
  [[nodiscard]] std::string ctl(const std::string& words) const;

  [[nodiscard]] int pid() const { return pid_; }  // of its process group
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int tls_port() const { return tls_port_; }
  [[nodiscard]] const std::string& user() const { return user_; }
  [[nodiscard]] const std::string& password() const { return password_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string ca_file() const { return directory_ + "/tls/ca.pem"; }
  [[nodiscard]] std::string cert_file() const { return directory_ + "/tls/client.pem"; }
  [[nodiscard]] std::string key_file() const { return directory_ + "/tls/client.key"; }
  // As a nova.conf would have it, percent-encoded.
  [[nodiscard]] std::string transport_url() const;
  // Options for the link with short waits and a queue of this name.
  [[nodiscard]] listener::AmqpOptions options(const std::string& queue) const;

 private:
  explicit RabbitMqBroker(int port);
  [[nodiscard]] std::string script(const std::string& command) const;

  std::optional<TempFolder> folder_;
  std::string directory_;
  std::string first_node_;  // directory of a cluster's first node; empty: it is none's
  int port_ = 0;
  int tls_port_ = 0;
  int pid_ = 0;  // leads the process group of all that was started
  std::string user_;
  std::string password_;
};

struct StoredMessage {
  std::string body;
  std::string why;  // header reclaim-why
};

// Every failure is a failed CHECK: tests have no use for a client that cannot reach its broker.
class RabbitMqClient final {
 public:
  explicit RabbitMqClient(const RabbitMqBroker& broker);
  ~RabbitMqClient();
  RabbitMqClient(const RabbitMqClient&) = delete;
  RabbitMqClient& operator=(const RabbitMqClient&) = delete;

  void declare_exchange(const std::string& name, bool durable);
  void delete_exchange(const std::string& name);
  void declare_queue(const std::string& name, bool durable, const std::string& type);
  void bind_queue(const std::string& name, const std::string& exchange, const std::string& key);
  void delete_queue(const std::string& name);
  void purge_queue(const std::string& name);
  // Whether the queue exists, by passive declare; its messages ready for delivery if so.
  [[nodiscard]] std::optional<std::uint32_t> messages(const std::string& queue);
  // Whether declaring it so would be accepted.
  [[nodiscard]] bool exchange_is(const std::string& name, bool durable);
  void publish(const std::string& exchange, const std::string& routing_key, std::string_view body);
  // The same, and waits for the broker's confirmation, which means that a queue has it safely.
  // False: there was none within the time, or it was refused, as RabbitMQ does for a new channel
  // while the leader's node is down: connect again, as oslo.messaging does.
  [[nodiscard]] bool publish_confirmed(const std::string& exchange, const std::string& routing_key,
                                       std::string_view body);
  [[nodiscard]] std::optional<StoredMessage> get(const std::string& queue);
  // Consumes `count` messages and acks them by the hundred; returns the bytes of their bodies.
  [[nodiscard]] std::uint64_t drain(const std::string& queue, std::uint64_t count, int prefetch);

 private:
  [[nodiscard]] bool ok();  // of the last call; opens the channel again if the broker closed it
  void open_channel();

  amqp_connection_state_t connection_;
  bool confirms_ = false;
};

// Publishes as oslo.messaging does: each message until it is confirmed, over a new connection where
// it was not.
class ConfirmedPublisher final {
 public:
  explicit ConfirmedPublisher(const RabbitMqBroker& broker);

  void publish(const std::string& exchange, const std::string& routing_key, std::string_view body);

 private:
  const RabbitMqBroker& broker_;
  std::unique_ptr<RabbitMqClient> client_;
};

}  // namespace reclaim::testing
