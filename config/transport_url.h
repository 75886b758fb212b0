// oslo.messaging's transport_url:
// rabbit://user:password@host:port[,user:password@host:port]/vhost?k=v read as
// oslo_messaging.TransportURL.parse() and its RabbitMQ driver do. Pure. Thread: any.
//
// The list of hosts is split at ',', each at its last '@'; user, password and virtual host are
// percent-decoded after splitting; IPv6 addresses stand in brackets; no virtual host means "/". The
// query overrides [oslo_messaging_rabbit] (config/settings.cpp does that).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "listener/amqp/options.h"
#include "state/base/result.h"

namespace reclaim::config {

struct TransportUrl {
  // The brokers: at least one, in the order written. TLS does not change a port: 5671 must be
  // written out.
  std::vector<listener::AmqpHost> hosts;
  std::string virtual_host = "/";
  // Decoded, in the order written; a key given twice has its values joined by ','.
  std::vector<std::pair<std::string, std::string>> query;

  friend bool operator==(const TransportUrl&, const TransportUrl&) = default;
};

inline constexpr std::size_t kTransportUrlBytesMax = std::size_t{16} * 1024;
inline constexpr std::size_t kTransportHostsMax = 64;

// Accepted schemes: rabbit, and its aliases kombu and amqp. The error's text never quotes any part
// of the URL that may be a password.
[[nodiscard]] Result<TransportUrl> parse_transport_url(std::string_view text);

// The URL for logs: every password is "***", and so are query values (they may name key files only,
// but who knows).
[[nodiscard]] std::string redacted(const TransportUrl& bus);

}  // namespace reclaim::config
