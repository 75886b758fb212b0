#include "state/certificate/signing_key.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "state/base/check.h"
#include "state/base/durable_file.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

using durable_file::File;

constexpr std::size_t kKeyBytesMax = 16'384;
constexpr std::string_view kBegin = "-----BEGIN";

Result<std::string> read_key_file(const std::string& path) {
  const Result<File> file = File::open_regular(path);
  return file.ok() ? file->read_all(kKeyBytesMax) : Result<std::string>(file.error());
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio reading(std::string_view text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  CHECK(bio != nullptr);
  return bio;
}

std::string content(BIO* bio) {
  char* bytes = nullptr;
  const long length = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(length)};
}

// An encrypted key is refused instead of asked for on somebody's terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

std::shared_ptr<EVP_PKEY> owned(EVP_PKEY* key) {
  return {key, &EVP_PKEY_free};
}

std::string id_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(key, &der);
  CHECK(length > 0);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(
      der, [](unsigned char* bytes) { OPENSSL_free(bytes); });
  return sha256_of({reinterpret_cast<const char*>(der), static_cast<std::size_t>(length)});
}

Error wrong(const std::string& path, std::string_view what) {
  ERR_clear_error();
  return Error{Errc::invalid, fmt::format("{}: {}", path, what)};
}

Result<std::string> private_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  if (bio == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Error{Errc::failed, "OpenSSL cannot write the new signing key"};
  }
  return content(bio.get());
}

std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return {whole.parent_path().string(), whole.filename().string()};
}

// True if the key has a point of small order, in whatever spelling: anybody can sign with such a
// key. The top bit is a sign.
bool is_of_small_order(EVP_PKEY* key) {
  constexpr std::array<std::string_view, 7> kPoints = {
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"};
  std::array<unsigned char, 32> point{};
  std::size_t length = point.size();
  CHECK(EVP_PKEY_get_raw_public_key(key, point.data(), &length) == 1 && length == point.size());
  point.back() &= 0x7f;
  return std::find(kPoints.begin(), kPoints.end(), hex_of(point)) != kPoints.end();
}

}  // namespace

std::string sha256_of(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
  return hex_of({digest.data(), length});
}

PublicKey::PublicKey(std::shared_ptr<evp_pkey_st> key)
    : key_(std::move(key)), id_(id_of(key_.get())) {}

Result<PublicKey> PublicKey::load(const std::string& path) {
  const Result<std::string> text = read_key_file(path);
  if (!text.ok()) return text.error();
  auto key = parse(*text);
  if (!key.ok()) return wrong(path, key.error().what);
  return key;
}

Result<std::vector<PublicKey>> PublicKey::load_all(const std::string& path) {
  const Result<std::string> text = read_key_file(path);
  if (!text.ok()) return text.error();
  std::vector<PublicKey> keys;
  std::size_t at = 0;
  do {  // each piece has one block, but for that of a text without any
    const std::size_t begin = std::min(text->find(kBegin, at), text->size());
    const std::size_t next = text->find(kBegin, begin + 1);
    auto key = parse(text->substr(at, next - at));
    if (!key.ok()) return wrong(path, key.error().what);
    keys.push_back(*std::move(key));
    at = next;
  } while (at != std::string::npos);
  return keys;
}

Result<PublicKey> PublicKey::parse(const std::string& pem) {
  // A text with two blocks is refused: one tool reads the first, and another the one whose label it
  // knows.
  const std::size_t first = pem.find(kBegin);
  if (first != std::string::npos && pem.find(kBegin, first + 1) != std::string::npos) {
    return Error{Errc::invalid,
                 "has more than one block that begins with -----BEGIN: leave the public key alone "
                 "in it"};
  }
  auto key = owned(PEM_read_bio_PUBKEY(reading(pem).get(), nullptr, &no_passphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return Error{Errc::invalid, "holds no public key in PEM form (-----BEGIN PUBLIC KEY-----)"};
  }
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    return Error{Errc::invalid,
                 "is a public key of another kind: certificates are signed with Ed25519"};
  }
  if (is_of_small_order(key.get())) {
    return Error{Errc::invalid,
                 "is a public key of small order, with which anybody can sign: make one with "
                 "`openssl genpkey -algorithm ed25519`"};
  }
  return PublicKey(std::move(key));
}

bool PublicKey::verifies(std::string_view bytes, std::string_view signature) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  CHECK(context != nullptr);
  if (signature.size() != kSignatureBytes) return false;
  const auto* const begin = reinterpret_cast<const unsigned char*>(bytes.data());
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), begin, bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

Result<std::string> PublicKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  if (bio == nullptr || PEM_write_bio_PUBKEY(bio.get(), key_.get()) != 1) {
    return Error{Errc::failed, "OpenSSL cannot write the public key"};
  }
  return content(bio.get());
}

Result<SigningKey> SigningKey::load(const std::string& path) {
  const Result<std::string> text = durable_file::read_secret(path);
  if (!text.ok()) return text.error();
  auto key = owned(PEM_read_bio_PrivateKey(reading(*text).get(), nullptr, &no_passphrase, nullptr));
  if (key == nullptr) {
    return wrong(path,
                 "holds no private key in PEM form without a passphrase; make one with `openssl "
                 "genpkey -algorithm ed25519`");
  }
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    return wrong(path,
                 "is a private key of another kind: certificates are signed with Ed25519 "
                 "(`openssl genpkey -algorithm ed25519`)");
  }
  return SigningKey(PublicKey(std::move(key)));
}

Result<SigningKey> SigningKey::load_or_create(const std::string& path) {
  const auto [folder, name] = folder_and_name(path);
  std::error_code code;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, code))) {
    const auto made = owned(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    if (made == nullptr) return Error{Errc::failed, "OpenSSL cannot make a signing key"};
    const Result<std::string> text = private_pem(made.get());
    if (!text.ok()) return text.error();
    if (Status kept = durable_file::replace_file(folder, name, *text, 0600); !kept.ok()) {
      return std::move(kept).error();
    }
  }
  Result<SigningKey> key = load(path);
  if (!key.ok()) return key;
  const Result<std::string> pem = key->public_key().pem();
  if (!pem.ok()) return pem.error();
  const Result<std::string> there = read_key_file(path + ".pub");
  if (there.ok() && *there == *pem) return key;
  if (Status kept = durable_file::replace_file(folder, name + ".pub", *pem, 0644); !kept.ok()) {
    return std::move(kept).error();
  }
  return key;
}

Result<std::string> SigningKey::sign(std::string_view bytes) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  CHECK(context != nullptr);
  std::string signature(kSignatureBytes, '\0');
  std::size_t length = signature.size();
  const auto* const begin = reinterpret_cast<const unsigned char*>(bytes.data());
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, public_.key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                     begin, bytes.size()) != 1 ||
      length != kSignatureBytes) {
    ERR_clear_error();
    return Error{Errc::failed, "OpenSSL cannot sign the certificate"};
  }
  return signature;
}

}  // namespace reclaim
