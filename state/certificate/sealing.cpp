// What of seal.h takes a key.
#include <fmt/core.h>
#include <openssl/evp.h>

#include <string>

#include "state/base/json.h"
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

// Of what open_seal() found to be one.
std::string from_base64(std::string_view text) {
  std::string raw(3 * text.size() / 4 + 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(raw.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  raw.resize(length < static_cast<int>(kSignatureBytes) ? 0 : kSignatureBytes);
  return raw;
}

class Unheard final : public json::Parts {
 public:
  void on(json::Token /*token*/, std::string_view /*text*/, std::size_t /*offset*/) override {}
};

Status check_content(std::string_view json_text) {
  if (json_text.find('\n') != std::string_view::npos) {
    return Error{Errc::invalid, "it must be one line of JSON"};
  }
  Unheard parts;
  if (Status shallow = json::read(json_text, parts); !shallow.ok()) return shallow;
  const auto document = json::parse(json_text, kSealedBytesMax);
  if (!document.ok()) return document.error();
  if (!document->IsObject()) return Error{Errc::invalid, "it is not a JSON object"};
  const auto id = json::get_string(*document, "id");
  return id.ok() ? Status(Ok{}) : Status(id.error());
}

}  // namespace

Result<std::string> seal(const SigningKey& key, std::uint64_t sequence, std::string_view previous,
                         std::string_view json_text, SealedKind kind) {
  if (Status may = check_content(json_text); !may.ok()) {
    return may.error().wrap("the certificate to be sealed");
  }
  std::string line = head_of_sealed(sequence, previous, key.public_key().id(), kind);
  line += json_text;
  line += "}\n";
  const auto signature = key.sign(line);
  if (!signature.ok()) return signature.error();
  return fmt::format("{{\"sealed\":\n{},\"signature\":\"{}\"}}\n", line, to_base64(*signature));
}

bool is_signed_with(const PublicKey& key, const Sealed& sealed) {
  return key.verifies(sealed.signed_line, from_base64(sealed.signature));
}

}  // namespace reclaim
