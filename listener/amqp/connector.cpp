#include "listener/amqp/connector.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "listener/amqp/topology.h"

namespace reclaim::listener {
namespace {

constexpr int kFrameBytesMax = 131072;
constexpr int kSendBufferBytes = 262144;

timeval to_timeval(int timeout_ms) {
  timeval out{};
  out.tv_sec = timeout_ms / 1000;
  out.tv_usec = static_cast<suseconds_t>(timeout_ms % 1000) * 1000;
  return out;
}

std::string peer_name(const AmqpHost& host) {
  return fmt::format("{}:{}", host.host, host.port);
}

// librabbitmq aborts the process when a key wants a pass phrase, and says nothing but "SSL error"
// of a file it cannot read; so both are looked at first.
Status check_key_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Error{Errc::invalid, fmt::format("ssl_key_file {} cannot be read", path)};
  for (std::string line; std::getline(in, line);) {
    if (line.find("ENCRYPTED") != std::string::npos) {
      return Error{
          Errc::invalid,
          fmt::format("ssl_key_file {} is protected by a pass phrase; give a key without", path)};
    }
  }
  return Ok{};
}

amqp_tls_version_t library_version(AmqpTlsVersion version) {
  switch (version) {
    case AmqpTlsVersion::v1_0:
      return AMQP_TLSv1;
    case AmqpTlsVersion::v1_1:
      return AMQP_TLSv1_1;
    case AmqpTlsVersion::v1_2:
    case AmqpTlsVersion::v1_3:
      break;
  }
  return AMQP_TLSv1_2;
}

Result<amqp_socket_t*> make_tls_socket(amqp_connection_state_t connection, const AmqpTls& tls) {
  if (tls.lowest == AmqpTlsVersion::v1_3) {
    return Error{Errc::invalid,
                 "ssl_version TLSv1_3 cannot be demanded with this librabbitmq; TLSv1_2 takes 1.3 "
                 "wherever the broker offers it"};
  }
  amqp_socket_t* socket = amqp_ssl_socket_new(connection);
  if (socket == nullptr) return Error{Errc::unavailable, "TLS could not be set up"};
  const bool verify = !tls.ca_file.empty();
  amqp_ssl_socket_set_verify_peer(socket, verify ? 1 : 0);
  amqp_ssl_socket_set_verify_hostname(socket, verify && tls.verify_hostname ? 1 : 0);
  amqp_ssl_socket_set_ssl_versions(socket, library_version(tls.lowest), AMQP_TLSvLATEST);
  if (verify && amqp_ssl_socket_set_cacert(socket, tls.ca_file.c_str()) != AMQP_STATUS_OK) {
    return Error{Errc::invalid,
                 fmt::format("ssl_ca_file {} holds no certificate that can be read", tls.ca_file)};
  }
  if (!tls.cert_file.empty()) {
    const std::string& key = tls.key_file.empty() ? tls.cert_file : tls.key_file;
    const Status usable = check_key_file(key);
    if (!usable) return usable.error();
    if (amqp_ssl_socket_set_key(socket, tls.cert_file.c_str(), key.c_str()) != AMQP_STATUS_OK) {
      return Error{
          Errc::invalid,
          fmt::format("ssl_cert_file {} and ssl_key_file {} are not a certificate and its key",
                      tls.cert_file, key)};
    }
  }
  return socket;
}

Status open_socket(amqp_connection_state_t connection, const AmqpOptions& options,
                   const AmqpHost& host) {
  amqp_socket_t* socket = nullptr;
  if (options.tls.enabled) {
    Result<amqp_socket_t*> made = make_tls_socket(connection, options.tls);
    if (!made) return made.error();
    socket = *made;
  } else {
    socket = amqp_tcp_socket_new(connection);
    if (socket == nullptr) return Error{Errc::unavailable, "no memory for a socket"};
  }
  const timeval timeout = to_timeval(options.connect_timeout_ms);
  errno = 0;
  const int status = amqp_socket_open_noblock(socket, host.host.c_str(), host.port, &timeout);
  const int number = errno;
  // The errno of what came later than connect()'s return is not kept by librabbitmq.
  if (status == AMQP_STATUS_SOCKET_ERROR && (number == EINPROGRESS || number == ECONNREFUSED)) {
    return Error{Errc::unavailable,
                 fmt::format("the connection is refused: see that RabbitMQ runs and listens at "
                             "{}, that no firewall refuses this host, and that transport_url "
                             "names that host and port",
                             peer_name(host)),
                 status};
  }
  if (status != AMQP_STATUS_OK) {
    return library_error(status, number)
        .wrap(options.tls.enabled ? "connecting with TLS failed" : "connecting failed");
  }
  // Acks and dead letters are written from the loop, which must not wait for the socket: the link
  // looks for room first, and this is the room.
  const int send_buffer = kSendBufferBytes;
  (void)setsockopt(amqp_get_sockfd(connection), SOL_SOCKET, SO_SNDBUF, &send_buffer,
                   sizeof send_buffer);
  return Ok{};
}

Status login(amqp_connection_state_t connection, const AmqpOptions& options, const AmqpHost& host) {
  std::array<amqp_table_entry_t, 4> capabilities{flag("authentication_failure_close"),
                                                 flag("consumer_cancel_notify"),
                                                 flag("connection.blocked"), flag("basic.nack")};
  amqp_table_entry_t capability_entry{};
  capability_entry.key = amqp_cstring_bytes("capabilities");
  capability_entry.value.kind = AMQP_FIELD_KIND_TABLE;
  capability_entry.value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  const std::string product = "reclaim";
  std::array<amqp_table_entry_t, 3> entries{capability_entry, entry_of("product", product),
                                            entry_of("connection_name", options.connection_name)};
  const amqp_table_t properties{static_cast<int>(entries.size()), entries.data()};
  const timeval timeout = to_timeval(options.connect_timeout_ms);
  if (amqp_set_handshake_timeout(connection, &timeout) != AMQP_STATUS_OK ||
      amqp_set_rpc_timeout(connection, &timeout) != AMQP_STATUS_OK) {
    return Error{Errc::unavailable, "no memory for a connection"};
  }
  const bool external = options.login == AmqpLogin::external;
  // RabbitMQ takes the name from the certificate; librabbitmq cannot send an empty one.
  const std::string& user = external && host.user.empty() ? product : host.user;
  const Status status = check_reply(
      connection, amqp_login_with_properties(
                      connection, options.vhost.c_str(), 0, kFrameBytesMax, options.heartbeat_s,
                      &properties, external ? AMQP_SASL_METHOD_EXTERNAL : AMQP_SASL_METHOD_PLAIN,
                      user.c_str(), host.password.c_str()));
  if (status) return Ok{};
  const std::string who = external ? "by certificate" : fmt::format("as '{}'", host.user);
  return status.error().wrap(fmt::format("login {} to vhost '{}' failed", who, options.vhost));
}

Error at_broker(const AmqpHost& host, const Error& error) {
  return error.wrap(fmt::format("RabbitMQ at {}", peer_name(host)));
}

Error given_up() {
  return Error{Errc::cancelled, "connecting was given up"};
}

}  // namespace

Result<AmqpConnection> connect_and_log_in(const AmqpOptions& options, std::size_t host_index,
                                          const std::atomic<bool>& cancelled) {
  const AmqpHost& host = options.hosts[host_index];
  AmqpConnection connection(amqp_new_connection());
  if (connection == nullptr) return at_broker(host, Error{Errc::unavailable, "no memory"});
  const Status opened = open_socket(connection.get(), options, host);
  if (!opened) return at_broker(host, opened.error());
  if (cancelled) return given_up();
  const Status logged_in = login(connection.get(), options, host);
  if (!logged_in) return at_broker(host, logged_in.error());
  if (cancelled) return given_up();
  return connection;
}

Result<AmqpConsuming> connect_and_consume(const AmqpOptions& options, std::size_t host_index,
                                          const std::atomic<bool>& cancelled) {
  const AmqpHost& host = options.hosts[host_index];
  Result<AmqpConnection> connected = connect_and_log_in(options, host_index, cancelled);
  if (!connected) return std::move(connected).error();
  AmqpConsuming out;
  out.connection = std::move(connected).value();
  amqp_connection_state_t connection = out.connection.get();
  Result<AmqpTopology> topology = set_up_topology(connection, options);
  if (!topology) {
    close_politely(std::move(out.connection), options.connect_timeout_ms);
    return at_broker(host, topology.error());
  }
  if (cancelled) return given_up();
  const Status consuming = begin_consuming(connection, options);
  if (!consuming) return at_broker(host, consuming.error());
  out.missing_exchanges = std::move(topology->missing_exchanges);
  out.queue_existed = topology->queue_existed;
  return out;
}

void close_politely(AmqpConnection connection, int timeout_ms) {
  if (is_lost(connection.get())) return;
  const timeval timeout = to_timeval(timeout_ms);
  if (amqp_set_rpc_timeout(connection.get(), &timeout) != AMQP_STATUS_OK) return;
  (void)amqp_connection_close(connection.get(), AMQP_REPLY_SUCCESS);
}

}  // namespace reclaim::listener
