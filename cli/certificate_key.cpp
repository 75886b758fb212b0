// reclaim certificate endorse|revoke: what an operator says of the keys that a host signs with.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>

#include "cli/certificate_folder.h"
#include "cli/commands.h"
#include "cli/confirm.h"
#include "config/machine_facts.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/certificate/chain.h"
#include "state/certificate/file_ledger.h"
#include "state/certificate/succession.h"

namespace reclaim::cli {
namespace {

constexpr std::size_t kKeyPrefixMin = 8;
constexpr std::size_t kKeyIdChars = 64;
constexpr std::uint64_t kSequenceMax = 999'999'999'999'999;  // as certificate.schema.json

// The sequences that a key signed in a chain, in their order: of entries and of certificates.
struct Signed {
  std::vector<std::uint64_t> entries;
  std::vector<std::uint64_t> certificates;
};

// Finds the keys that signed in a chain, by id. A file that cannot be read is left out:
// `certificate verify` complains of it.
Result<std::map<std::string, Signed>> keys_of_chain(const std::string& folder) {
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  std::map<std::string, Signed> keys;
  for (const ChainFile& file : listing->files) {
    const auto opened = open_entry(folder, file.name);
    if (!opened.ok()) continue;
    Signed& by_it = keys[opened->key_id];
    by_it.entries.push_back(opened->sequence);
    if (opened->kind == SealedKind::certificate) by_it.certificates.push_back(opened->sequence);
  }
  return keys;
}

// True if it is an id, or the beginning of one. A file of such a name is given as ./NAME: whoever
// may write the folder that an operator works in chooses no key for him.
bool is_of_an_id(std::string_view text) {
  return text.size() >= kKeyPrefixMin && text.size() <= kKeyIdChars &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Finds a key's id by a file with the public key, by the id, or by the beginning of one that has
// signed.
Result<std::string> find_key(const std::map<std::string, Signed>& keys, const std::string& named) {
  const std::string id = lower(named);
  if (!is_of_an_id(id) && ::access(named.c_str(), F_OK) == 0) {
    const auto key = PublicKey::load(named);
    return key.ok() ? Result<std::string>(key->id()) : key.error();
  }
  if (is_digest(id)) return id;
  std::vector<std::string> known;
  known.reserve(keys.size());
  for (const auto& [key_id, by_it] : keys) known.push_back(key_id);
  std::vector<std::string> begin_so;
  std::copy_if(known.begin(), known.end(), std::back_inserter(begin_so),
               [&](const std::string& each) { return each.starts_with(id); });
  if (begin_so.size() == 1 && is_of_an_id(id)) return begin_so.front();
  return Error{Errc::not_found,
               fmt::format("no entry is signed with key {}. It is given as a file with the public "
                           "key, as its id, or by the first {} characters or more of that (a file "
                           "of such a name is given as ./NAME); these have signed entries: {}",
                           printable_excerpt(named), kKeyPrefixMin, fmt::join(known, ", "))};
}

std::size_t count_from(const std::vector<std::uint64_t>& sequences, std::uint64_t from) {
  return static_cast<std::size_t>(std::count_if(
      sequences.begin(), sequences.end(), [from](std::uint64_t each) { return each >= from; }));
}

// Seals it, on this host, while no worker runs.
Status keep_entry(const config::Settings& settings, AuditEntry entry) {
  entry.host = settings.host;
  entry.at = SystemClock().now().wall;
  const auto machine = config::read_machine_facts(settings);
  if (!machine) return machine.error();
  FileLedgerOptions ledger;
  ledger.owner = {machine->machine_id, settings.host};
  ledger.state_path = settings.state_path;
  ledger.signing_key = settings.signing_key;
  const Status kept = keep_key_entry(ledger, std::move(entry));
  if (!kept.ok() && kept.error().code == Errc::busy) {
    return kept.error().wrap("stop the worker first");
  }
  return kept;
}

// Refuses a key that the one in use could not put in its own place.
Status check_next(const config::Settings& settings, const PublicKey& next) {
  const std::string folder = certificates_folder(settings.state_path);
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  const auto own = keys_of(settings, {});
  if (!own.ok()) return own.error();
  Succession succession({});
  for (const ChainFile& file : listing->files) {
    const auto entry = open_entry(folder, file.name);
    if (!entry.ok()) continue;
    (void)succession.take(*entry);
  }
  const auto refused = [&next](const std::string& why) {
    return Error{Errc::refused, fmt::format("key {} {}: endorse a key that was made for this "
                                            "(openssl genpkey -algorithm ed25519)",
                                            next.id(), why)};
  };
  if (const auto said = succession.revoked().find(next.id()); said != succession.revoked().end()) {
    return refused(fmt::format("was revoked by entry {}", said->second.entry));
  }
  if (const auto entry = succession.retired_by(next.id())) {
    return refused(fmt::format("is a former one, in whose place entry {} put another", *entry));
  }
  if (next.id() == own->front().id()) return refused("is the one in use");
  return Ok{};
}

}  // namespace

int run_certificate_endorse(const config::Settings& settings, const CertificateOptions& options,
                            std::ostream& out, std::ostream& err) {
  const auto next = PublicKey::load(options.named.front());
  if (!next.ok()) return complain(err, next.error());
  if (const Status may = check_next(settings, *next); !may) return complain(err, may.error());
  auto pem = next->pem();
  if (!pem.ok()) return complain(err, pem.error());
  AuditEntry entry;
  entry.event = AuditEvent::key_endorsed;
  entry.detail = "the next key is " + next->id();
  entry.public_key = *std::move(pem);
  if (Status kept = keep_entry(settings, std::move(entry)); !kept) {
    return complain(err, kept.error());
  }
  out << "key " << next->id() << " is endorsed; put its private half in the place of the old one, "
      << "then start the worker\n";
  return 0;
}

int run_certificate_revoke(const config::Settings& settings, const RevokeOptions& options,
                           std::ostream& out, std::ostream& err) {
  const auto from = parse_number<std::uint64_t>(options.from);
  if (!from || *from == 0 || *from > kSequenceMax) {
    return complain(err,
                    Error{Errc::usage, fmt::format("--from: '{}' is not the number of an "
                                                   "entry, from 1 to {}, in decimal digits",
                                                   printable_excerpt(options.from), kSequenceMax)});
  }
  if (options.reason.empty()) {
    return complain(err, Error{Errc::usage, "--reason: say why, for the audit"});
  }
  const auto keys = keys_of_chain(certificates_folder(settings.state_path));
  if (!keys.ok()) return complain(err, keys.error());
  const auto key = find_key(*keys, options.key);
  if (!key.ok()) return complain(err, key.error());
  const auto known = keys->find(*key);
  if (known == keys->end()) {
    out << fmt::format("key {} has signed no entry of the chain\n", *key);
  } else {
    const auto& [entries, certificates] = known->second;
    out << fmt::format(
        "key {} signed entries from {} to {}; from entry {} on, {} of them ({}) will be refused\n",
        *key, entries.front(), entries.back(), *from, count_from(entries, *from),
        counted(count_from(certificates, *from), "certificate"));
  }
  const std::string question =
      fmt::format("Revoke it from entry {} on? It cannot be undone.", *from);
  if (const Status meant = confirm(question, options.yes, out); !meant) {
    return complain(err, meant.error());
  }
  AuditEntry entry;
  entry.event = AuditEvent::key_revoked;
  entry.detail = options.reason;
  entry.key_id = *key;
  entry.from_sequence = *from;
  if (Status kept = keep_entry(settings, std::move(entry)); !kept) {
    return complain(err, kept.error());
  }
  out << fmt::format(
      "key {} is revoked from entry {} on; start the worker, and tell the auditors\n", *key, *from);
  return 0;
}

}  // namespace reclaim::cli
