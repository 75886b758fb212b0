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
#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr std::size_t kSecretBytes = 32;

}  // namespace

Result<MacKey> MacKey::load(const std::string& path) {
  Result<std::string> text = durable_file::read_secret(path);
  if (!text.ok()) return std::move(text).error();
  auto key = parse(*text);
  if (key) return *std::move(key);
  return Error{
      Errc::invalid,
      fmt::format("{} holds no key, which is {} hexadecimal digits in lower case; make one "
                  "with `openssl rand -hex {}`",
                  path, 2 * kSecretBytes, kSecretBytes)};
}

std::optional<MacKey> MacKey::parse(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  auto secret = bytes_of_hex(text);
  const bool whole = secret && secret->size() == kSecretBytes && lower(text) == text;
  if (!whole || secret->find_first_not_of('\0') == std::string::npos) return std::nullopt;
  return MacKey(*std::move(secret));
}

Result<MacKey> MacKey::load_or_create(const std::string& path) {
  Result<MacKey> key = load(path);
  if (key.ok() || key.error().code != Errc::not_found) return key;
  std::array<unsigned char, kSecretBytes> secret{};
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
    return Error{Errc::failed, fmt::format("OpenSSL cannot make a key for {}", path)};
  }
  const std::filesystem::path whole(path);
  if (Status kept = durable_file::replace_file(
          whole.parent_path().string(), whole.filename().string(), hex_of(secret) + "\n", 0600);
      !kept.ok()) {
    return std::move(kept).error();
  }
  return load(path);
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
  return hex_of({code.data(), length});
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
