// The options by which Redis is reached, and the bounds on speaking with it. Plain data; config/
// fills it. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "state/base/result.h"

namespace reclaim {

struct RedisAddress {
  std::string host;  // name or IP address
  std::uint16_t port = 0;
  bool operator==(const RedisAddress&) const = default;
};

// The files by which we know the server, and it us, over TLS, as PEM.
struct RedisTlsOptions {
  bool enabled = false;
  std::string ca_file;    // authorities; empty: those that this system trusts
  std::string cert_file;  // ours, with its chain; empty: none
  std::string key_file;   // that of cert_file
};

struct RedisOptions {
  // Name or IP address; unused when unix_socket or cluster is set, and found out where there are
  // sentinels.
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_socket;  // path; empty: TCP
  std::string username;     // ACL user; empty: AUTH with the password alone
  std::string password;     // empty: no AUTH
  int db = 0;
  std::vector<RedisAddress> sentinels;  // who is asked for the master; empty: it is `host`
  std::string sentinel_service;         // the name that they know it by
  std::string sentinel_username;        // as username and password, of the sentinels
  std::string sentinel_password;
  std::vector<RedisAddress> cluster;  // of whose nodes some are these; empty: no cluster
  RedisTlsOptions tls;                // of the sentinels, and of every node, as well
  std::string called = "Redis";       // in messages
  int connect_timeout_ms = 2000;      // until the server has accepted AUTH, SELECT and the greeting
  int command_timeout_ms = 2000;
  int reconnect_min_ms = 100;
  int reconnect_max_ms = 5000;
  std::size_t commands_in_flight_max = 4096;
  std::size_t command_bytes_max = std::size_t{16} * 1024 * 1024;
  std::size_t reply_bytes_max = std::size_t{16} * 1024 * 1024;  // nothing of ours is longer
  std::size_t reply_elements_max = 1'000'000;
};

// The address in messages: "127.0.0.1:6379" or "[::1]:6379".
[[nodiscard]] std::string describe(const RedisAddress& address);
// "127.0.0.1:6379/0" or "/run/redis.sock/0"; who the sentinels are, before one named the master.
[[nodiscard]] std::string describe(const RedisOptions& options);
// The time that it may take to be connected, or to know why not, where of the sentinels or nodes
// that are named the last one answers: the connect timeout for each, for the server that they name,
// and once more.
[[nodiscard]] std::int64_t connect_patience_ms(const RedisOptions& options);
// Errc::invalid: what cannot work.
[[nodiscard]] Status check_options(const RedisOptions& options);

}  // namespace reclaim
