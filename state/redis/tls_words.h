// Puts what OpenSSL says of a TLS connection to Redis into words that an operator can act on: what
// is wrong with the server's certificate, and why a handshake ended. Pure but for OpenSSL; thread:
// any.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "state/base/clock.h"
#include "state/redis/options.h"

namespace reclaim {

// The flaw of the certificate that X509_verify_cert() (OpenSSL) is looking at, with the remedy.
// `host`: whom the connection was made to.
[[nodiscard]] std::string certificate_flaw(X509_STORE_CTX& store, const RedisTlsOptions& options,
                                           const std::string& host);

// The end of a connection: `cause` is of OpenSSL's queue, or 0, and `said` what the system or
// hiredis says.
struct RedisTlsEnd {
  unsigned long cause = 0;
  bool in_handshake = false;
  bool answered = false;  // a command
  std::string said;
};
[[nodiscard]] std::string end_in_words(const RedisTlsEnd& end, const RedisTlsOptions& options);

[[nodiscard]] WallMs time_of(const ASN1_TIME* time);

}  // namespace reclaim
