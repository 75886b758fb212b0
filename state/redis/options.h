// How to reach Redis, and the bounds on speaking with it. Plain data; config/ fills it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace reclaim {

struct RedisOptions {
  std::string host = "127.0.0.1";  // name or IP address; unused when unix_socket is set
  std::uint16_t port = 6379;
  std::string unix_socket;  // path; empty: TCP
  std::string username;     // ACL user; empty: AUTH with the password alone
  std::string password;     // empty: no AUTH
  int db = 0;
  int connect_timeout_ms = 2000;  // until the server has accepted AUTH, SELECT and the greeting
  int command_timeout_ms = 2000;
  int reconnect_min_ms = 100;
  int reconnect_max_ms = 5000;
  std::size_t commands_in_flight_max = 4096;
  std::size_t command_bytes_max = std::size_t{16} * 1024 * 1024;
  std::size_t reply_bytes_max = std::size_t{16} * 1024 * 1024;  // nothing of ours is longer
  std::size_t reply_elements_max = 1'000'000;
};

}  // namespace reclaim
