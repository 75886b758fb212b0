// The options of the HTTP server. Nothing here reads configuration; config/ fills it from [api].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reclaim::listener {

struct HttpServerOptions {
  // "127.0.0.1:6666", "[::1]:6666"; port 0: any that is free. "[::]:6666" takes IPv6 only.
  std::vector<std::string> bind;
  std::string unix_socket;  // empty: none; made with unix_socket_mode, replaced if stale
  std::uint32_t unix_socket_mode = 0600;
  std::optional<std::uint32_t> unix_socket_group;  // its gid; nothing: the process's
  std::string tls_cert_file;  // PEM chain; with tls_key_file: every TCP socket speaks TLS only
  std::string tls_key_file;
  std::size_t connections_max = 512;  // beyond: the longest idle one goes, or 503 and close
  std::size_t request_head_bytes_max = 16'384;
  std::size_t request_body_bytes_max = 65'536;
  std::size_t headers_max = 100;
  // Answers made and not yet taken by their clients, of all connections; beyond it a 503 is said.
  std::size_t answer_bytes_max = 67'108'864;
  std::int64_t head_timeout_ms = 10'000;    // from accept to the end of TLS's handshake; from the
                                            // first byte of a head to its last; then as long again
                                            // for the body
  std::int64_t idle_timeout_ms = 60'000;    // between requests
  std::int64_t write_timeout_ms = 30'000;   // without progress
  std::int64_t send_timeout_ms = 300'000;   // of one answer, however steadily it is taken
  std::int64_t answer_timeout_ms = 60'000;  // the handler's
};

}  // namespace reclaim::listener
