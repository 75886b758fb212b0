// HTTP/1.1 on the libuv loop: sockets, TLS, parsing (by llhttp), limits, keep-alive and
// pipelining, request ids, the access log. What a request means is its handler's business.
//
// Thread: the loop's. Owns its sockets. A client that is slow, silent or talks garbage costs one
// connection out of connections_max and nothing of anybody else's time.
#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handlers/api/api.h"
#include "listener/http/options.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim::listener {

struct HttpServerCounters {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t bad_requests = 0;  // garbage, too large, too slow
  std::uint64_t turned_away = 0;   // by connections_max
};

class HttpServer {
 public:
  // May answer at once, later, from anywhere on the loop's thread, or keep what it was given to
  // answer with for ever. HEAD comes as GET. The handler must not destroy the server.
  using Handler = std::function<void(api::Request, Once<api::Response>)>;

  // Binds and listens at once; the error names address or file and what the system said.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> create(uv_loop_t* loop,
                                                                  const HttpServerOptions& options,
                                                                  Handler handler,
                                                                  const Clock& clock, Logger& log);
  HttpServer() = default;
  virtual ~HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Reads certificate and key anew, for connections to come; what is wrong with them leaves those
  // that are in use. Fails without TLS.
  [[nodiscard]] virtual Status reload_tls() = 0;

  // The places where it listens now: "http://127.0.0.1:6666", "unix:/run/reclaim/api.sock".
  [[nodiscard]] virtual std::vector<std::string> addresses() const = 0;
  [[nodiscard]] virtual HttpServerCounters counters() const = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;

  // Takes no new connection, lets answers under way finish for kStopMs, and closes. `closed` is
  // called once, and not from within stop(); never if the server is destroyed before.
  static constexpr std::int64_t kStopMs = 3'000;
  virtual void stop(Once<> closed) = 0;

 private:
  class Impl;
};

}  // namespace reclaim::listener
