// TLS for the HTTP server: OpenSSL between two buffers, so that the loop owns the sockets.
//
// Thread: the loop's. An HttpTls owns certificate and key; a session owns one connection's secrets.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::listener {

class HttpTls final {
 public:
  // TLS 1.2 and newer. The error names the file and what is wrong with it.
  [[nodiscard]] static Result<std::unique_ptr<HttpTls>> create(const std::string& cert_file,
                                                               const std::string& key_file);
  // The certificate's last day has passed: every client that checks will refuse it.
  [[nodiscard]] bool expired() const;

 private:
  friend class HttpTlsSession;
  struct FreeContext {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  using Context = std::unique_ptr<SSL_CTX, FreeContext>;
  explicit HttpTls(Context context) : context_(std::move(context)) {}

  Context context_;
};

// One connection's, from the handshake to the last word.
class HttpTlsSession final {
 public:
  enum class State { handshake, open, ended, failed };

  explicit HttpTlsSession(HttpTls& tls);

  // Takes what came from the socket and appends what it means to `plain`. After `ended` the client
  // says nothing more; after `failed` nothing works any more, but output() may hold an alert.
  void feed(std::string_view cipher, std::string& plain);
  // Encrypts all of it; nothing before the handshake is done.
  void write(std::string_view plain);
  void end();  // says that we write nothing more
  // Appends to `cipher` what has to go to the socket.
  void output(std::string& cipher);

  [[nodiscard]] State state() const { return state_; }
  // The handshake failed because the client spoke plain HTTP.
  [[nodiscard]] bool was_plain_http() const { return was_plain_http_; }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  void settle(int rc);

  std::unique_ptr<SSL, FreeSsl> ssl_;
  State state_ = State::handshake;
  bool was_plain_http_ = false;
};

}  // namespace reclaim::listener
