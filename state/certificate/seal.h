// The seal around a certificate: its place in the chain and a signature. A sealed certificate is a
// file of three lines that together are one JSON object, so that jq reads it and an auditor needs
// no more than sed, openssl and sha256sum to check it (docs/certificate-format.md):
//
//   {"sealed":
//   {"sequence":2,"previous":"SHA-256","key_id":"SHA-256","certificate":{...}}
//   ,"signature":"BASE64"}
//
// Signed are the exact bytes of the second line, its line break included. Chained are whole files:
// `previous` is the SHA-256 of the bytes of the file before, 64 zeroes for the first. Pure. Thread:
// any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "state/base/result.h"
#include "state/certificate/signing_key.h"

namespace reclaim {

// The kind of what is in the seal: the proof of an erasure, or an entry of the audit journal
// (state/ledger/audit.h), whose member is "audit" instead of "certificate".
enum class SealedKind : std::uint8_t { certificate, audit };
[[nodiscard]] std::string_view to_string(SealedKind kind);

inline constexpr std::size_t kSealedBytesMax = std::size_t{1280} * 1024;
inline constexpr std::string_view kNoPrevious =
    "0000000000000000000000000000000000000000000000000000000000000000";

// `json_text`: one JSON object in one line. Errc::invalid if it is not.
[[nodiscard]] Result<std::string> seal(const SigningKey& key, std::uint64_t sequence,
                                       std::string_view previous, std::string_view json_text,
                                       SealedKind kind = SealedKind::certificate);

// 64 lower-case hex digits: a SHA-256, or a key's id.
[[nodiscard]] bool is_digest(std::string_view text);

struct Sealed {
  std::uint64_t sequence = 0;
  std::string previous;
  std::string key_id;
  SealedKind kind = SealedKind::certificate;
  std::string id;           // the certificate's or entry's own
  std::string content;      // its JSON text
  std::string signed_line;  // with its line break
  std::string signature;    // in base64, in the one spelling that it has
};

// Takes a sealed text apart; it must have the form above to the byte. The signature is not looked
// at.
[[nodiscard]] Result<Sealed> open_seal(std::string_view text);
[[nodiscard]] bool is_signed_with(const PublicKey& key, const Sealed& sealed);

// The signed line up to what is inside.
[[nodiscard]] std::string head_of_sealed(std::uint64_t sequence, std::string_view previous,
                                         std::string_view key_id, SealedKind kind);
// The whole text: of the signed line, with its line break, and its signature in base64.
[[nodiscard]] std::string sealed_text(std::string_view signed_line, std::string_view signature);
// The id that what is inside gives itself.
[[nodiscard]] Result<std::string> id_of_content(std::string_view json_text);

// Checks that what is inside has all that docs/certificate.schema.json asks for, and that its times
// are of the calendar; Errc::invalid names the member and the rule.
[[nodiscard]] Status check_certificate_schema(std::string_view json_text,
                                              SealedKind kind = SealedKind::certificate);

// The file's name: "000000002-ID.json". Sorted by name they are in the chain's order.
[[nodiscard]] std::string sealed_name(std::uint64_t sequence, std::string_view id);
struct SealedName {
  std::uint64_t sequence = 0;
  std::string id;
};
[[nodiscard]] Result<SealedName> parse_sealed_name(std::string_view name);

}  // namespace reclaim
