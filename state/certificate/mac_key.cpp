#include "state/certificate/mac_key.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "state/base/check.h"
#include "state/base/durable_file.h"

namespace reclaim {
namespace {

constexpr std::size_t kSecretBytes = 32;

std::string hex_of(const unsigned char* bytes, std::size_t size) {
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Result<MacKey> MacKey::load(const std::string& path) {
  Result<std::string> text = durable_file::read_secret(path);
  if (!text.ok()) return std::move(text).error();
  if (text->ends_with('\n')) text->pop_back();
  std::string secret;
  for (std::size_t i = 0; i + 1 < text->size(); i += 2) {
    const int high = digit_of((*text)[i]);
    const int low = digit_of((*text)[i + 1]);
    if (high < 0 || low < 0) break;
    secret += static_cast<char>(high * 16 + low);
  }
  if (text->size() != 2 * kSecretBytes || secret.size() != kSecretBytes) {
    return Error{Errc::invalid,
                 fmt::format("{} holds no key, which is {} hexadecimal digits in lower case; make "
                             "one with `openssl rand -hex {}`",
                             path, 2 * kSecretBytes, kSecretBytes)};
  }
  return MacKey(std::move(secret));
}

Result<MacKey> MacKey::load_or_create(const std::string& path) {
  Result<MacKey> key = load(path);
  if (key.ok() || key.error().code != Errc::not_found) return key;
  std::array<unsigned char, kSecretBytes> secret{};
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
    return Error{Errc::failed, fmt::format("OpenSSL cannot make a key for {}", path)};
  }
  const std::filesystem::path whole(path);
  if (Status kept =
          durable_file::replace_file(whole.parent_path().string(), whole.filename().string(),
                                     hex_of(secret.data(), secret.size()) + "\n", 0600);
      !kept.ok()) {
    return std::move(kept).error();
  }
  key = load(path);
  if (key.ok()) key->newly_made_ = true;
  return key;
}

std::string MacKey::mac(std::string_view purpose,
                        const std::map<std::string, std::string>& fields) const {
  std::string text = fmt::format("{}:{}\n", purpose.size(), purpose);
  for (const auto& [name, value] : fields) {
    text += fmt::format("{}:{}={}:{}\n", name.size(), name, value.size(), value);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned length = 0;
  CHECK(HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), code.data(),
             &length) != nullptr);
  return hex_of(code.data(), length);
}

bool MacKey::fits(std::string_view purpose, const std::map<std::string, std::string>& fields,
                  std::string_view mac_text) const {
  const std::string own = mac(purpose, fields);
  return own.size() == mac_text.size() &&
         CRYPTO_memcmp(own.data(), mac_text.data(), own.size()) == 0;
}

std::string default_host_key(const std::string& state_path) {
  return state_path + "/host.key";
}

}  // namespace reclaim
