// The certificates of a host as a chain of files. One folder holds
//
//   000000001-ID.json …   the sealed certificates (state/certificate/seal.h), in their order
//   head                  the newest one, as sha256sum writes it: "SHA-256  NAME"
//
// The folder is the truth; `head` is written after each certificate and tells when the newest ones
// were taken away. A crash between the two leaves a head that is one behind, which heals. Blocks:
// for the ledger's own thread, for the start and for the operator's commands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "state/base/result.h"
#include "state/certificate/seal.h"
#include "state/certificate/signing_key.h"
#include "state/certificate/succession.h"
#include "state/ledger/audit.h"

namespace reclaim {

struct ChainFile;

class CertificateChain final {
 public:
  // `folder` is made when the first certificate is kept; its parent must exist.
  CertificateChain(std::string folder, SigningKey key)
      : folder_(std::move(folder)), key_(std::move(key)) {}

  // Seals the certificate as the chain's next, durably, and returns the file's text. One that is
  // sealed already stays as it is, whatever `json_text` says, and its text is returned: a
  // crash makes a certificate be kept again. Errc::invalid: the end of the chain is damaged, which
  // file and how.
  [[nodiscard]] Result<std::string> keep(const std::string& id, const std::string& json_text,
                                         SealedKind kind = SealedKind::certificate) const;
  // Checks that this key may go on with the chain. Errc::refused: it was revoked, or another was
  // put in its place, and its signatures would be refused.
  [[nodiscard]] Status check_key() const;

 private:
  [[nodiscard]] Status check_key(const std::vector<ChainFile>& files) const;
  std::string folder_;
  SigningKey key_;
};

struct ChainFile {
  std::uint64_t sequence = 0;
  std::string id;
  std::string name;
};

struct ChainListing {
  std::vector<ChainFile> files;      // by sequence, then name
  std::vector<std::string> foreign;  // names of files that do not belong here
};
// A folder that does not exist holds none; a link to nowhere is an error.
[[nodiscard]] Result<ChainListing> list_chain(const std::string& folder);
[[nodiscard]] Result<std::string> read_sealed(const std::string& folder, const std::string& name);
[[nodiscard]] Result<std::string> read_sealed(const std::string& path);
// Reads an entry and opens its seal, as open_seal() does.
[[nodiscard]] Result<Sealed> open_entry(const std::string& folder, const std::string& name);

// One text alone: form, signature by one of the keys, schema. Errc::not_found: by none of them.
[[nodiscard]] Result<Sealed> check_sealed(std::string_view text,
                                          const std::vector<PublicKey>& keys);

struct ChainProblem {
  std::string file;  // its name, or the folder where a file is missing
  std::string what;
  // Something is not at its place, or not as it was sealed. False: all that is wrong is whose
  // signature it has.
  bool breaks = true;
  std::string unknown_key = {};  // its id, where that is none of the keys that are known there
};
// Entries that prove nothing, by their names.
struct DoubtedEntries {
  // The entries with a key that was revoked, or in whose place another was put: whoever has it may
  // have signed them.
  std::set<std::string> revoked;
  // The entries that are signed by none of the keys that are known there, or are another than their
  // name says: whoever may write the folder put them there.
  std::set<std::string> unproven;
  // The entries that another history of the chain has, or may have: their place is another's too,
  // they do not lead back to the first entry, or what is behind is not chained to them. Their keys
  // are known.
  std::set<std::string> disputed = {};
};
struct ChainReport {
  std::uint64_t count = 0;         // of entries
  std::uint64_t certificates = 0;  // of them; the others are the audit's
  std::uint64_t first = 0;         // sequence; 0: no entry
  std::uint64_t last = 0;
  std::string last_sha256;  // of the newest file
  std::string last_name;    // the newest file's
  std::vector<ChainProblem> problems;
  // The keys given, and those that the chain's entries endorse. Where it is broken, the keys given
  // alone: who may write the folder puts an endorsement of a former key wherever he likes.
  std::vector<PublicKey> keys;
  Revocations revoked;  // of keys, by the chain's entries
  DoubtedEntries doubted;
  std::set<std::string> signers;  // ids of the keys that its entries name
  [[nodiscard]] bool broken() const {
    return std::any_of(problems.begin(), problems.end(),
                       [](const ChainProblem& each) { return each.breaks; });
  }
};
// "entries 1 to 7 (1 certificate), whole and signed; …", of a report without problems.
[[nodiscard]] std::string extent_of(const ChainReport& report);
// Every file of the folder: each alone, its name, its place, the one before, the head. A key that
// an entry endorses, signed with a key that is known by then, is known from there on; a key in
// whose place another was put, by its own word or by the other's first entry, signs nothing behind
// that; and what an entry revokes of a key is refused wherever it stands, an endorsement too. Looks
// at the `newest_max` newest only. The chain may grow meanwhile: what was listed counts, and a head
// that names an earlier entry is waited for, a second at most.
[[nodiscard]] Result<ChainReport> check_chain(
    const std::string& folder, const std::vector<PublicKey>& keys,
    std::size_t newest_max = std::numeric_limits<std::size_t>::max());

// The events of each drive, in the chain's order: for find_missing_erasures(). An entry without a
// serial is of the drive that the entries of its host and address name next, of whatever event;
// where none does any more, of the one that they named last. What cannot be read is left out;
// check_chain() complains of it. A certificate by a revoked key is no erasure, nor is one in
// dispute. A tenancy by a revoked key may be invented or true, and is marked; it names the drive of
// another entry only where no other does. The same holds for a tenancy in dispute.
[[nodiscard]] Result<DriveEvents> drive_events(const std::string& folder,
                                               const DoubtedEntries& doubted = {});

}  // namespace reclaim
