// Succession: decides which key may sign what in a host's chain. Its keys follow one another, and
// one that leaked is revoked. Pure. Thread: the owner's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "state/base/result.h"
#include "state/certificate/seal.h"
#include "state/certificate/signing_key.h"

namespace reclaim {

// The revocation of a key that leaked, as an entry says it.
struct Revocation {
  std::uint64_t from = 0;   // sequence of the first entry that the key does not prove
  std::uint64_t entry = 0;  // sequence of the one that says so
  std::string reason;
};
using Revocations = std::map<std::string, Revocation>;  // by the key's id

// Takes a chain's entries in their order. A key counts until another is put in its place, by its
// own word or by the other's first entry: who finds an old one signs nothing with it.
class Succession final {
 public:
  // `revoked`: by entries of the whole chain, those to come included. An entry revokes what was
  // signed before it, so that a chain with a revocation is read twice.
  explicit Succession(std::vector<PublicKey> keys, Revocations revoked = {})
      : keys_(std::move(keys)), revoked_(std::move(revoked)) {}

  // The keys given, and those that an entry endorsed.
  [[nodiscard]] const std::vector<PublicKey>& keys() const { return keys_; }
  // The revocations given, and those of the entries; of one key the one that reaches back furthest.
  [[nodiscard]] const Revocations& revoked() const { return revoked_; }

  // Takes in an entry whose signature is good. Errc::refused: its key signs nothing any more, or it
  // does not say of a key what it has to.
  [[nodiscard]] Status take(const Sealed& sealed);

  // Errc::refused: the entry's key was revoked, from there on or before, or another was put in its
  // place. The text says by which entry.
  [[nodiscard]] Status check_key(const Sealed& sealed) const;

  // The entry that put another key in the place of that one; nothing: it may sign.
  [[nodiscard]] std::optional<std::uint64_t> retired_by(const std::string& key_id) const;

 private:
  [[nodiscard]] Status take_audit(const Sealed& sealed);

  std::vector<PublicKey> keys_;
  Revocations revoked_;
  std::string current_;
  std::string next_;  // endorsed, and has signed nothing yet; empty: none
  std::map<std::string, std::uint64_t> retired_;  // by the entry that put another in its place
};

}  // namespace reclaim
