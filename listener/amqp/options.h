// The options of the AMQP link. Nothing here reads configuration; config/ fills it from
// transport_url, [oslo_messaging_rabbit], [oslo_messaging_notifications] and [listener].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reclaim::listener {

struct AmqpHost {
  std::string host;  // a name or an address; IPv6 without brackets
  int port = 5672;
  std::string user = "guest";  // as kombu has it where the URL names none
  std::string password = "guest";

  friend bool operator==(const AmqpHost&, const AmqpHost&) = default;
};

// The oldest version of TLS that is accepted; older ones than 1.2 have to be asked for.
enum class AmqpTlsVersion { v1_0, v1_1, v1_2, v1_3 };

struct AmqpTls {
  bool enabled = false;
  std::string ca_file;  // empty: the broker is not verified at all, as in oslo.messaging
  std::string cert_file;
  std::string key_file;
  bool verify_hostname = true;  // only with ca_file
  AmqpTlsVersion lowest = AmqpTlsVersion::v1_2;
};

enum class AmqpLogin { plain, external };

enum class QueueType {
  automatic,  // what the broker makes of a queue without a type
  classic,
  quorum,
};

// "versioned_notifications.info" and so on: oslo.messaging's keys of each topic, in the priorities
// that events come with.
[[nodiscard]] inline std::vector<std::string> notification_keys(
    const std::vector<std::string>& topics) {
  std::vector<std::string> out;
  for (const std::string& topic : topics) {
    for (const char* priority : {".info", ".error"}) out.push_back(topic + priority);
  }
  return out;
}

struct AmqpOptions {
  std::vector<AmqpHost> hosts;  // at least one; tried in turn from a random one on
  std::string vhost = "/";
  AmqpTls tls;
  AmqpLogin login = AmqpLogin::plain;       // EXTERNAL: the client certificate is the login
  std::string connection_name = "reclaim";  // what the broker's list of connections shows
  int heartbeat_s = 60;                     // 0: none; the broker may ask for less
  int connect_timeout_ms = 10'000;  // for the TCP connection, and again for each answer of the
                                    // broker until the link consumes

  int reconnect_interval_ms = 1'000;  // after the first failure,
  int reconnect_backoff_ms = 2'000;   // that much more after each further one,
  int reconnect_max_ms = 30'000;      // up to this; each with jitter of a quarter

  // The queue is bound to each exchange with each routing key.
  std::vector<std::string> exchanges{"nova"};
  std::vector<std::string> routing_keys =
      notification_keys({"versioned_notifications", "notifications"});
  int exchange_wait_max_ms = 10'000;  // how often at least a missing exchange is looked for

  // The queues of Nova's notifier: the watched ones are looked at again and again, and those of
  // them that are drained are emptied while they have no reader.
  std::vector<std::string> watched_queues;
  std::vector<std::string> drained_queues;
  int queue_look_ms = 300'000;  // between two looks

  std::string queue = "reclaim";  // of notifications: shared by the listeners of all hosts, which
                                  // compete on it
  std::int64_t queue_expires_ms = 0;  // without a consumer for this long it goes; 0: it never does
  std::string dead_letter_queue = "reclaim.dead";
  QueueType queue_type = QueueType::automatic;
  bool durable =
      false;  // of the queues, where no exchange exists yet whose durability could be taken
  std::int64_t message_ttl_ms = 3'600'000;
  std::int64_t queue_length_max = 100'000;
  std::int64_t dead_letter_ttl_ms = 604'800'000;
  std::int64_t dead_letter_length_max = 1'000;
  std::size_t dead_letter_bytes_max = 65'536;  // of one dead letter's body

  int prefetch = 200;     // deliveries the broker hands out unacked
  int ack_batch = 100;    // acks sent at once; never more than half of prefetch
  int ack_delay_ms = 50;  // an ack is sent at the latest after this
  std::size_t body_bytes_max = std::size_t{1} << 20U;
};

struct RpcServerOptions {
  AmqpOptions amqp;                    // of the connection; what is bound to what is ours to say
  std::string host;                    // [DEFAULT] host: the server Cyborg's conductor names
  std::string exchange = "cyborg";     // Cyborg's control_exchange
  std::string topic = "cyborg-agent";  // requests come with the routing key TOPIC.HOST
  bool serve = false;                  // answer calls
  std::vector<int> survey_delays_s{0, 5, 30};  // when to look after a request
};

struct NotifierOptions {
  AmqpOptions amqp;                  // of the connection: hosts, login, TLS, timeouts
  std::string exchange = "reclaim";  // made as `amqp.durable` says where it does not exist
  std::vector<std::string> topics{"versioned_notifications"};  // each gets every notification
};

}  // namespace reclaim::listener
