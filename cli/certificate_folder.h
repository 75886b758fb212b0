// The common part of the commands over a folder of certificates: where it is, which keys it is
// verified with, and reading all of it. Blocks; thread: the command's.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/certificate_report.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "config/settings.h"
#include "state/base/result.h"
#include "state/certificate/chain.h"
#include "state/certificate/signing_key.h"

namespace reclaim::cli {

// The complaint of an empty folder that was named, that is of a host in a mirror, or that an
// auditor's key or noted entry is held against.
inline constexpr std::string_view kNoEntry = "has no entry: is it the folder of a chain?";
// True if an empty folder is complained of; else it is of a host that has released nothing yet.
[[nodiscard]] bool must_have_entry(const CertificateOptions& options);

// The files of a chain. Errc::not_found: it is an empty folder that has to have an entry.
[[nodiscard]] Result<ChainListing> list_named(const std::string& folder,
                                              const CertificateOptions& options);

[[nodiscard]] std::string folder_of(const config::Settings& settings,
                                    const CertificateOptions& options);

// A chain, and whose it is.
struct ChainPlace {
  std::string host;  // the name of its folder in a mirror; empty: what its certificates say
  std::string folder;
};
// The one of folder_of(); with --all-hosts those of a mirror, which is --folder, else
// [certificates] mirror_dir, and of them only that of --host where it is given. Errc::not_found:
// there is none; Errc::usage: no mirror is known.
[[nodiscard]] Result<std::vector<ChainPlace>> chains_of(const config::Settings& settings,
                                                        const CertificateOptions& options);
// The hosts, of --host that one alone, whose HOST.pub or HOST.head is in the folder that
// --public-key names and which are at none of the places: their chain was taken out of the mirror,
// or never copied there. Errc::invalid: a file there is neither.
[[nodiscard]] Result<std::vector<std::string>> without_chain(const CertificateOptions& options,
                                                             const std::vector<ChainPlace>& places);
// "chains of 2 hosts: compute-1, compute-2; …"
[[nodiscard]] std::string hosts_of(const std::vector<ChainPlace>& places);

// The public keys of --public-key, else the one beside the signing key. Errc::usage: a file or
// folder that was named has a control character in its name, which a shell would cut off, or a list
// show as another name.
[[nodiscard]] Result<std::vector<PublicKey>> keys_of(const config::Settings& settings,
                                                     const CertificateOptions& options);
// The keys of a chain in a mirror: those of its own host alone, HOST.pub in the folder that
// --public-key names, the oldest and what follows it. Another host's key proves nothing there.
[[nodiscard]] Result<std::vector<PublicKey>> keys_of(const config::Settings& settings,
                                                     const CertificateOptions& options,
                                                     const ChainPlace& place);

// Finds the keys, those of --public-key, that have signed nothing there: was the chain cut before
// their first entry?
[[nodiscard]] std::vector<ChainProblem> unused_keys(const ChainReport& report,
                                                    const std::vector<PublicKey>& must_sign);

// An error of usage if --expect is given and is not SEQUENCE:SHA256.
[[nodiscard]] Status check_expected(const CertificateOptions& options);

// An auditor's note of a chain's newest entry, "SEQUENCE:SHA256" of --expect, or of a chain in a
// mirror in HOST.head, beside its HOST.pub: why that entry, and all that came before it, is not
// there; nothing: it is, or none was noted.
[[nodiscard]] std::optional<ChainProblem> lost_entry(const CertificateOptions& options,
                                                     const ChainPlace& place);

// Every entry of the chain but the certificates by a revoked key, which prove no erasure; a
// file that cannot be read is named in `unreadable`, with the reason. Its `chain` says nothing yet.
[[nodiscard]] Result<ReportSource> read_chain(const ChainPlace& place,
                                              const DoubtedEntries& doubted,
                                              std::vector<std::string>& unreadable);

}  // namespace reclaim::cli
