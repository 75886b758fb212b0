#include "state/redis/tls_words.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>
#include <string_view>

#include "state/base/log.h"
#include "state/base/openssl_error.h"

namespace reclaim {
namespace {

constexpr std::size_t kNameBytesMax = 120;
constexpr int kNamesMax = 8;        // of a certificate, in a message
constexpr int kAlertOffset = 1000;  // SSL_AD_REASON_OFFSET: the server's alerts among the reasons

constexpr std::string_view kGiveCertificate =
    "set [redis] tls_cert_file and tls_key_file, or tls-auth-clients no in its configuration";
constexpr std::string_view kGiveAnother =
    "give one that is valid and signed by an authority of its tls-ca-cert-file";

std::string in_words(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_ONELINE);
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(out.get(), &text);
  return printable_excerpt({text, static_cast<std::size_t>(bytes)}, kNameBytesMax);
}

std::string_view bytes_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::string in_words(const GENERAL_NAME& name) {
  if (name.type == GEN_DNS) return printable_excerpt(bytes_of(name.d.dNSName), kNameBytesMax);
  const std::string_view bytes =
      name.type == GEN_IPADD ? bytes_of(name.d.iPAddress) : std::string_view();
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes.size() == sizeof(in_addr)) {
    return inet_ntop(AF_INET, bytes.data(), text.data(), text.size());
  }
  if (bytes.size() == sizeof(in6_addr)) {
    return inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  }
  return "";
}

// Whom it is for: a server is known by these names alone, where it has any.
std::string names_in(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::string text;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()) && i < kNamesMax; ++i) {
    const std::string name = in_words(*sk_GENERAL_NAME_value(names.get(), i));
    if (!name.empty()) text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? in_words(X509_get_subject_name(certificate)) : text;
}

std::string authorities_of(const RedisTlsOptions& options) {
  return options.ca_file.empty() ? "this system" : options.ca_file;
}

// An alert is the server's word for why it ended the connection (RFC 8446, section 6.2).
bool is_alert(unsigned long cause) {
  const int reason = ERR_GET_REASON(cause);
  return ERR_GET_LIB(cause) == ERR_LIB_SSL && reason > kAlertOffset && reason <= kAlertOffset + 255;
}

std::string alert_in_words(int alert, const RedisTlsOptions& options) {
  if (alert == SSL_AD_CERTIFICATE_REQUIRED ||
      (alert == SSL_AD_HANDSHAKE_FAILURE && options.cert_file.empty())) {
    return fmt::format("the server ended the connection, for it demands a client certificate; {}",
                       kGiveCertificate);
  }
  const std::string text = SSL_alert_desc_string_long(alert);
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
      if (options.cert_file.empty()) break;
      return fmt::format("the server refuses the client certificate {} ({}); {}", options.cert_file,
                         text, kGiveAnother);
    default:
      break;
  }
  return fmt::format("the server ended the TLS handshake ({}); see its own log", text);
}

}  // namespace

WallMs time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallMs{static_cast<std::int64_t>(timegm(&parts)) * 1000};
}

std::string certificate_flaw(X509_STORE_CTX& store, const RedisTlsOptions& options,
                             const std::string& host) {
  const int code = X509_STORE_CTX_get_error(&store);
  const X509* certificate = X509_STORE_CTX_get_current_cert(&store);
  if (certificate == nullptr) certificate = X509_STORE_CTX_get0_cert(&store);
  const std::string whose = X509_STORE_CTX_get_error_depth(&store) == 0
                                ? "the server's certificate"
                                : "the certificate of its authority";
  const std::string subject = in_words(X509_get_subject_name(certificate));
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{} ({}) expired at {}; renew it, and let the server read it again", whose,
                         subject, to_iso8601(time_of(X509_get0_notAfter(certificate))));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("{} ({}) is valid from {} only; correct the clock of this host, or wait",
                         whose, subject, to_iso8601(time_of(X509_get0_notBefore(certificate))));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format(
          "{} is for {} and not for {}; use a name that it has, or give the server a "
          "certificate with this one (subjectAltName)",
          whose, names_in(certificate), printable_excerpt(host, kNameBytesMax));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format(
          "{} ({}, issued by {}) is of no authority that {} has; name the file of the "
          "authority in [redis] tls_ca_file",
          whose, subject, in_words(X509_get_issuer_name(certificate)), authorities_of(options));
    default:
      return fmt::format("{} ({}) is not accepted: {}; give the server another one", whose, subject,
                         X509_verify_cert_error_string(code));
  }
}

std::string end_in_words(const RedisTlsEnd& end, const RedisTlsOptions& options) {
  const int reason = ERR_GET_REASON(end.cause);
  if (is_alert(end.cause)) return alert_in_words(reason - kAlertOffset, options);
  std::string said = end.cause == 0 ? end.said : openssl_text(end.cause);
  if (ERR_GET_LIB(end.cause) == ERR_LIB_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    said = "it closed the connection";
  }
  if (end.answered) return said;
  if (!end.in_handshake) {
    // In TLS 1.3 a client's certificate is looked at when the handshake is over for the client.
    return options.cert_file.empty()
               ? fmt::format(
                     "the server did not answer after the handshake ({}); if it demands a "
                     "client certificate, {}",
                     said, kGiveCertificate)
               : fmt::format(
                     "the server did not answer after the handshake ({}); if it refuses "
                     "the client certificate {}, {}",
                     said, options.cert_file, kGiveAnother);
  }
  return fmt::format(
      "no TLS handshake with the server ({}); name its tls-port in [redis] url, or "
      "write redis:// if it has none",
      said);
}

}  // namespace reclaim
