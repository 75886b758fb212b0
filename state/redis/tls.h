// TLS on a connection to Redis: OpenSSL, driven by hiredis_ssl. That library comes with hiredis 1.0
// and newer, which Debian 13 has; where it is missing, tls_none.cpp is built instead, and refuses.
//
// Thread: the loop's. Blocks while the files are read, which happens for the first connection and
// for the next one after a file was replaced.
#pragma once

#include <memory>
#include <string>

#include "state/base/clock.h"
#include "state/base/result.h"
#include "state/redis/options.h"

struct redisContext;

namespace reclaim {

// The protection of a connection.
struct RedisTlsFacts {
  std::string version;      // as "TLSv1.3"; empty: no TLS
  WallMs ends_at;           // when the server's certificate expires
  WallMs own_ends_at = {};  // when ours does; 0: we showed none
};

// The TLS of one connection; it outlives the connection's context, whose errors hiredis keeps.
class RedisTlsSession {
 public:
  virtual ~RedisTlsSession() = default;

  // Begins the handshake on a TCP connection that has just been made; it goes on whenever hiredis
  // reads or writes. False: it failed, why() says why, and the context can only be freed.
  [[nodiscard]] virtual bool begin(redisContext& context) = 0;
  // To be called before hiredis reads or writes: OpenSSL takes whatever is in the thread's queue of
  // errors for an error of this connection.
  virtual void before_io() = 0;
  [[nodiscard]] virtual bool in_handshake() const = 0;
  // The reason why the connection ended, with the remedy; `said`: what hiredis says; `answered`:
  // the server has answered a command.
  [[nodiscard]] virtual std::string why(const std::string& said, bool answered) const = 0;
  [[nodiscard]] virtual RedisTlsFacts facts() const = 0;
};

// The TLS that the connections of one client have in common: the files, as they were last read.
class RedisTls {
 public:
  virtual ~RedisTls() = default;

  // Makes the TLS of a connection to `host`, the name or IP address that the server's certificate
  // has to be for. Errc::invalid names the file that cannot be used; Errc::refused: this build has
  // no TLS.
  [[nodiscard]] virtual Result<std::unique_ptr<RedisTlsSession>> session(
      const std::string& host) = 0;
};

// `options` outlive it.
[[nodiscard]] std::unique_ptr<RedisTls> make_redis_tls(const RedisTlsOptions& options);

}  // namespace reclaim
