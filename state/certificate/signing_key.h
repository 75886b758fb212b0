// The host's Ed25519 key that certificates are signed with, and its public half. Blocks while a
// file is read or written; otherwise any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

// OpenSSL's EVP_PKEY, so that nobody who includes this sees OpenSSL.
struct evp_pkey_st;

namespace reclaim {

// Lower-case hex.
[[nodiscard]] std::string sha256_of(std::string_view bytes);

inline constexpr std::size_t kSignatureBytes = 64;

// The public half of a signing key, which an auditor holds.
class PublicKey final {
 public:
  // PEM (SubjectPublicKeyInfo), as `openssl pkey -pubout` writes it, with no other block in it.
  [[nodiscard]] static Result<PublicKey> load(const std::string& path);
  [[nodiscard]] static Result<PublicKey> parse(const std::string& pem);
  // Loads the key of each block, from a file with one such block or more.
  [[nodiscard]] static Result<std::vector<PublicKey>> load_all(const std::string& path);

  // SHA-256 of the key's DER form, in hex: `openssl pkey -pubin -outform DER | sha256sum`.
  [[nodiscard]] const std::string& id() const { return id_; }
  // `signature` is raw, kSignatureBytes long.
  [[nodiscard]] bool verifies(std::string_view bytes, std::string_view signature) const;
  [[nodiscard]] Result<std::string> pem() const;

 private:
  friend class SigningKey;
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key);
  std::shared_ptr<evp_pkey_st> key_;  // shared with the private half, never changed
  std::string id_;
};

class SigningKey final {
 public:
  // PEM (PKCS #8), Ed25519, without a passphrase, readable by its owner alone. Errc::invalid names
  // what is wrong with it and what to do.
  [[nodiscard]] static Result<SigningKey> load(const std::string& path);
  // Loads the key as load() does; where there is no such file, makes one there (mode 0600,
  // durable). Either way the public half stands in PATH.pub afterwards.
  [[nodiscard]] static Result<SigningKey> load_or_create(const std::string& path);

  [[nodiscard]] const PublicKey& public_key() const { return public_; }
  // The signature is raw, kSignatureBytes long.
  [[nodiscard]] Result<std::string> sign(std::string_view bytes) const;

 private:
  explicit SigningKey(PublicKey pair) : public_(std::move(pair)) {}
  PublicKey public_;  // its handle holds the private half as well
};

}  // namespace reclaim
