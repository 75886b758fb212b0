#include "listener/http/tls.h"

#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <climits>

#include "state/base/check.h"
#include "state/base/openssl_error.h"

namespace reclaim::listener {
namespace {

// OpenSSL would ask for it at the terminal.
int no_pass_phrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// Clients that offer HTTP/2 first are content with this; those that offer nothing else learn it
// from our answer.
int choose_http11(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_length,
                  const unsigned char* offered, unsigned offered_length, void* /*context*/) {
  static constexpr std::array<unsigned char, 9> kWanted = {8,   'h', 't', 't', 'p',
                                                           '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int rc = SSL_select_next_proto(&found, chosen_length, kWanted.data(), kWanted.size(),
                                       offered, offered_length);
  *chosen = found;
  return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

Result<std::unique_ptr<HttpTls>> HttpTls::create(const std::string& cert_file,
                                                 const std::string& key_file) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()));
  CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Idle connections are many and keep no buffers.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http11, nullptr);
  bool asked = false;
  SSL_CTX_set_default_passwd_cb(context.get(), no_pass_phrase);
  SSL_CTX_set_default_passwd_cb_userdata(context.get(), &asked);

  if (SSL_CTX_use_certificate_chain_file(context.get(), cert_file.c_str()) != 1) {
    return Error{Errc::invalid, fmt::format("TLS certificate {}: {} (a PEM file is needed)",
                                            cert_file, openssl_text(take_openssl_cause()))};
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long cause = take_openssl_cause();
    std::string complaint = openssl_text(cause);
    if (asked) complaint = "it needs a pass phrase, and only keys without one can be used";
    if (ERR_GET_LIB(cause) == ERR_LIB_X509) {
      complaint = fmt::format("it does not belong to the certificate {}", cert_file);
    }
    return Error{Errc::invalid, fmt::format("TLS key {}: {}", key_file, complaint)};
  }
  SSL_CTX_set_default_passwd_cb_userdata(context.get(), nullptr);
  return std::unique_ptr<HttpTls>(new HttpTls(std::move(context)));
}

bool HttpTls::expired() const {
  const X509* certificate = SSL_CTX_get0_certificate(context_.get());
  return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
}

HttpTlsSession::HttpTlsSession(HttpTls& tls) : ssl_(SSL_new(tls.context_.get())) {
  CHECK(ssl_ != nullptr);
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  CHECK(in != nullptr && out != nullptr);
  BIO_set_mem_eof_return(in, -1);  // empty means later, not never
  BIO_set_mem_eof_return(out, -1);
  SSL_set_bio(ssl_.get(), in, out);
  SSL_set_accept_state(ssl_.get());
}

void HttpTlsSession::settle(int rc) {
  switch (SSL_get_error(ssl_.get(), rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      break;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::ended;
      break;
    default:
      was_plain_http_ =
          state_ == State::handshake && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST;
      state_ = State::failed;
  }
  ERR_clear_error();
}

void HttpTlsSession::feed(std::string_view cipher, std::string& plain) {
  if (state_ == State::failed) return;
  CHECK(cipher.size() <= INT_MAX);
  ERR_clear_error();
  BIO_write(SSL_get_rbio(ssl_.get()), cipher.data(), static_cast<int>(cipher.size()));
  if (state_ == State::handshake) {
    const int rc = SSL_do_handshake(ssl_.get());
    if (rc != 1) return settle(rc);
    state_ = State::open;
  }
  std::array<char, 16'384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (state_ == State::open) {
    const int rc = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (rc <= 0) return settle(rc);
    plain.append(buffer.data(), static_cast<std::size_t>(rc));
  }
}

void HttpTlsSession::write(std::string_view plain) {
  if (plain.empty() || state_ == State::handshake || state_ == State::failed) return;
  CHECK(plain.size() <= INT_MAX);
  ERR_clear_error();
  // A memory buffer takes all there is; only the session itself can refuse.
  const int rc = SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size()));
  if (rc <= 0) {
    ERR_clear_error();
    state_ = State::failed;
  }
}

void HttpTlsSession::end() {
  if (state_ == State::handshake || state_ == State::failed) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

void HttpTlsSession::output(std::string& cipher) {
  BIO* out = SSL_get_wbio(ssl_.get());
  char* data = nullptr;
  const long length = BIO_get_mem_data(out, &data);
  if (length > 0) cipher.append(data, static_cast<std::size_t>(length));
  BIO_reset(out);
}

}  // namespace reclaim::listener
