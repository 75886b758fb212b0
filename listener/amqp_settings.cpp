#include "listener/amqp_settings.h"

#include <fmt/core.h>
#include <unistd.h>

namespace reclaim::listener {
namespace {

AmqpTlsVersion lowest_version(config::TlsVersion version) {
  switch (version) {
    case config::TlsVersion::v1_0:
      return AmqpTlsVersion::v1_0;
    case config::TlsVersion::v1_1:
      return AmqpTlsVersion::v1_1;
    case config::TlsVersion::v1_3:
      return AmqpTlsVersion::v1_3;
    case config::TlsVersion::any:
    case config::TlsVersion::v1_2:
      return AmqpTlsVersion::v1_2;
  }
  return AmqpTlsVersion::v1_2;
}

// Of the bus at `url`; the rest of the link's options is the notifications'.
AmqpOptions options_at(const config::TransportUrl& url, const config::Settings& settings) {
  const config::RabbitSettings& rabbit = settings.rabbit;
  const config::ListenerSettings& from = settings.listener;
  constexpr int kMsPerS = 1000;
  AmqpOptions out;
  for (const config::TransportHost& host : url.hosts) {
    out.hosts.push_back(AmqpHost{host.host, host.port, host.username, host.password});
  }
  out.vhost = url.virtual_host;
  out.tls.enabled = rabbit.ssl;
  out.tls.lowest = lowest_version(rabbit.ssl_version);
  out.tls.ca_file = rabbit.ssl_ca_file;
  out.tls.cert_file = rabbit.ssl_cert_file;
  out.tls.key_file = rabbit.ssl_key_file;
  out.tls.verify_hostname = rabbit.ssl_enforce_hostname_verification;
  out.login =
      rabbit.login_method == config::LoginMethod::external ? AmqpLogin::external : AmqpLogin::plain;
  out.connection_name = fmt::format("reclaim:{}:{}", settings.host, getpid());
  out.heartbeat_s = rabbit.heartbeat_timeout_s;
  out.reconnect_interval_ms = rabbit.retry_interval_s * kMsPerS;
  out.reconnect_backoff_ms = rabbit.retry_backoff_s * kMsPerS;
  out.reconnect_max_ms = rabbit.retry_interval_max_s * kMsPerS;
  out.exchanges = from.exchanges;
  out.routing_keys = notification_keys(from.topics);
  out.queue = from.queue;
  out.dead_letter_queue = from.dead_letter_queue;
  switch (from.queue_type) {
    case config::QueueType::automatic:
      out.queue_type = rabbit.quorum_queue ? QueueType::quorum : QueueType::automatic;
      break;
    case config::QueueType::classic:
      out.queue_type = QueueType::classic;
      break;
    case config::QueueType::quorum:
      out.queue_type = QueueType::quorum;
      break;
  }
  out.durable = rabbit.durable;
  out.message_ttl_ms = static_cast<std::int64_t>(from.message_ttl_s) * kMsPerS;
  out.queue_length_max = from.queue_length_max;
  out.prefetch = from.prefetch;
  out.body_bytes_max = from.body_bytes_max;
  return out;
}

}  // namespace

AmqpOptions amqp_options(const config::Settings& settings) {
  return options_at(settings.rabbit.url, settings);
}

RpcServerOptions rpc_server_options(const config::Settings& settings) {
  RpcServerOptions out;
  out.amqp = options_at(settings.rabbit.rpc_url, settings);
  out.host = settings.host;
  out.exchange = settings.cyborg.rpc_exchange;
  out.topic = settings.cyborg.rpc_topic;
  out.serve = settings.cyborg.serve_rpc;
  out.survey_delays_s = settings.reclaim.survey_delays_s;
  return out;
}

}  // namespace reclaim::listener
