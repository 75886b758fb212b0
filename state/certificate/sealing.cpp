// The part of seal.h that takes a key.
#include <openssl/evp.h>

#include <string>

#include "state/certificate/seal.h"

namespace reclaim {
namespace {

std::string to_base64(std::string_view raw) {
  std::string text(4 * ((raw.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(raw.data()),
                                     static_cast<int>(raw.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

// Decodes what open_seal() found to be a signature.
std::string from_base64(std::string_view text) {
  std::string raw(3 * text.size() / 4 + 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(raw.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  raw.resize(length < static_cast<int>(kSignatureBytes) ? 0 : kSignatureBytes);
  return raw;
}

}  // namespace

Result<std::string> seal(const SigningKey& key, std::uint64_t sequence, std::string_view previous,
                         std::string_view json_text, SealedKind kind) {
  constexpr std::string_view kWhat = "the certificate to be sealed";
  if (json_text.find('\n') != std::string_view::npos) {
    return Error{Errc::invalid, "it must be one line of JSON"}.wrap(kWhat);
  }
  if (const auto id = id_of_content(json_text); !id.ok()) return id.error().wrap(kWhat);
  std::string line = head_of_sealed(sequence, previous, key.public_key().id(), kind);
  line += json_text;
  line += "}\n";
  const auto signature = key.sign(line);
  if (!signature.ok()) return signature.error();
  return sealed_text(line, to_base64(*signature));
}

bool is_signed_with(const PublicKey& key, const Sealed& sealed) {
  return key.verifies(sealed.signed_line, from_base64(sealed.signature));
}

}  // namespace reclaim
