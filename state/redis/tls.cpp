// hiredis_ssl makes sure that an authority signed the server's certificate, but not whose it is,
// and it keeps the reason of a failure to itself. So OpenSSL is told the name here, with
// X509_VERIFY_PARAM_set1_host(3) and set1_ip_asc(3), and asked for the reason.
#include "state/redis/tls.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <utility>

#include "state/base/check.h"
#include "state/base/durable_file.h"
#include "state/base/log.h"
#include "state/base/openssl_error.h"
#include "state/redis/tls_words.h"

namespace reclaim {
namespace {

constexpr std::size_t kKeyBytesMax = 65'536;
constexpr int kAppData = 0;  // that of SSL_set_app_data(3), a macro that casts as C does

struct FreeOpenssl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

Error unusable(std::string_view option, const std::string& path, std::string_view why) {
  return Error{Errc::invalid, fmt::format("[redis] {} {}: {}", option, path, why)};
}

// OpenSSL would ask for it at the terminal.
int no_pass_phrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// The device API's own user may read it by its group; nobody else may.
Status use_key(SSL_CTX& context, const RedisTlsOptions& options) {
  constexpr std::string_view kOption = "tls_key_file";
  const std::string& path = options.key_file;
  const auto file = durable_file::File::open_regular(path);
  if (!file && file.error().raw == 0) {
    return unusable(kOption, path, "it is no regular file; name one");
  }
  if (!file) {
    return unusable(kOption, path,
                    fmt::format("{}; correct the path, or let this process' user read it",
                                std::generic_category().message(file.error().raw)));
  }
  struct stat found {};
  if (::fstat(file->fd(), &found) != 0 || (found.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
    return unusable(kOption, path,
                    fmt::format("others than its owner may use this private key (mode {:04o}); "
                                "chmod 0600 it, and consider a new one",
                                found.st_mode & 07777U));
  }
  const auto text = file->read_all(kKeyBytesMax);
  if (!text) return unusable(kOption, path, text.error().what);
  const Owned<BIO> bytes(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  bool asked = false;
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_pass_phrase, &asked));
  if (asked) {
    return unusable(kOption, path, "it needs a pass phrase; give a key without one");
  }
  if (key == nullptr) {
    return unusable(
        kOption, path,
        fmt::format("{}; a private key in PEM is needed", openssl_text(take_openssl_cause())));
  }
  if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1) {
    return unusable(kOption, path,
                    fmt::format("it is not the key of the certificate {}; name the two that belong "
                                "together",
                                options.cert_file));
  }
  return Ok{};
}

Result<Owned<SSL_CTX>> read_files(const RedisTlsOptions& options) {
  ERR_clear_error();
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) != 1) {
    return unusable("tls_ca_file", options.ca_file,
                    fmt::format("{}; name a PEM file of authorities that can be read",
                                openssl_text(take_openssl_cause())));
  }
  if (options.cert_file.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.cert_file.c_str()) != 1) {
    return unusable("tls_cert_file", options.cert_file,
                    fmt::format("{}; name a PEM file of a certificate that can be read",
                                openssl_text(take_openssl_cause())));
  }
  if (Status used = use_key(*context, options); !used) {
    ERR_clear_error();
    return std::move(used).error();
  }
  return context;
}

class Session final : public RedisTlsSession {
 public:
  Session(const RedisTlsOptions& options, std::string host, Owned<SSL> ssl)
      : options_(options), host_(std::move(host)), own_(std::move(ssl)), ssl_(own_.get()) {
    SSL_set_ex_data(ssl_, kAppData, this);
    SSL_set_verify(ssl_, SSL_VERIFY_PEER, note_flaw);
    SSL_set_info_callback(ssl_, note_handshake);
  }

  // Sets the host that the certificate has to be for. False: no certificate can be for that one.
  [[nodiscard]] bool expect_host() {
    X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host_.c_str()) == 1) return true;
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(wanted, host_.data(), host_.size()) == 1 &&
           SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host_.data()) ==
               1;
  }

  bool begin(redisContext& context) override {
    ERR_clear_error();
    if (redisInitiateSSL(&context, ssl_) != REDIS_OK) return false;
    (void)own_.release();  // freed with the context
    return true;
  }
  void before_io() override { ERR_clear_error(); }
  bool in_handshake() const override { return !established_; }
  std::string why(const std::string& said, bool answered) const override {
    if (!flaw_.empty()) return flaw_;
    return end_in_words({take_openssl_cause(), in_handshake(), answered, said}, options_);
  }
  RedisTlsFacts facts() const override {
    const X509* certificate = SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr) return {};
    const X509* own = SSL_get_certificate(ssl_);
    return {SSL_get_version(ssl_), time_of(X509_get0_notAfter(certificate)),
            own == nullptr ? WallMs{} : time_of(X509_get0_notAfter(own))};
  }

 private:
  static Session& of(const SSL* ssl) {
    return *static_cast<Session*>(SSL_get_ex_data(ssl, kAppData));
  }
  // SSL_is_init_finished(3) says no again once a connection has failed.
  static void note_handshake(const SSL* ssl, int where, int /*value*/) {
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0) of(ssl).established_ = true;
  }
  static int note_flaw(int good, X509_STORE_CTX* store) {
    if (good == 1) return 1;
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    Session& session = of(ssl);
    session.flaw_ = certificate_flaw(*store, session.options_, session.host_);
    return 0;
  }

  const RedisTlsOptions& options_;
  std::string host_;
  Owned<SSL> own_;  // until hiredis has it
  SSL* ssl_;
  bool established_ = false;
  std::string flaw_;  // of the server's certificate
};

// Tells a file that was replaced from the one that was read.
struct Stamp {
  ino_t inode = 0;
  off_t bytes = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const Stamp&) const = default;
};
using Stamps = std::array<Stamp, 3>;

Stamp stamp_of(const std::string& path) {
  struct stat found {};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return {};
  return {found.st_ino, found.st_size,
          std::int64_t{found.st_ctim.tv_sec} * 1'000'000'000 + found.st_ctim.tv_nsec};
}

class Tls final : public RedisTls {
 public:
  explicit Tls(const RedisTlsOptions& options) : options_(options) {}

  Result<std::unique_ptr<RedisTlsSession>> session(const std::string& host) override {
    const Stamps now{stamp_of(options_.ca_file), stamp_of(options_.cert_file),
                     stamp_of(options_.key_file)};
    if (context_ == nullptr || now != read_) {
      auto context = read_files(options_);
      if (!context) return std::move(context).error();
      context_ = *std::move(context);
      read_ = now;
    }
    Owned<SSL> ssl(SSL_new(context_.get()));
    CHECK(ssl != nullptr);
    auto session = std::make_unique<Session>(options_, host, std::move(ssl));
    if (!session->expect_host()) {
      return Error{Errc::invalid, fmt::format("no certificate can be for '{}'; correct [redis] url",
                                              printable_excerpt(host))};
    }
    return std::unique_ptr<RedisTlsSession>(std::move(session));
  }

 private:
  const RedisTlsOptions& options_;
  Owned<SSL_CTX> context_;
  Stamps read_{};
};

}  // namespace

std::unique_ptr<RedisTls> make_redis_tls(const RedisTlsOptions& options) {
  return std::make_unique<Tls>(options);
}

}  // namespace reclaim
