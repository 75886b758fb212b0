// What the commands over a folder of certificates have in common: where it is, which keys it is
// verified with, and all of it at once. Blocks; thread: the command's.
#pragma once

#include <optional>
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

// Of a folder that was named, or that an auditor's key or noted entry is held against.
inline constexpr std::string_view kNoEntry = "has no entry: is it the folder of a chain?";
// Whether that is said of an empty one; else it is a host that has released nothing yet.
[[nodiscard]] bool must_have_entry(const CertificateOptions& options);

[[nodiscard]] std::string folder_of(const config::Settings& settings,
                                    const CertificateOptions& options);

// Those of --public-key, else the one beside the signing key. Errc::invalid: a file or folder that
// was named has a control character in its name, which a shell would cut off, or a list show as
// another name.
[[nodiscard]] Result<std::vector<PublicKey>> keys_of(const config::Settings& settings,
                                                     const CertificateOptions& options);

// Those of --public-key that have signed nothing there: was the chain cut before their first entry?
[[nodiscard]] std::vector<ChainProblem> unused_keys(const ChainReport& report,
                                                    const CertificateOptions& options,
                                                    const std::vector<PublicKey>& keys);

// An auditor's note of a chain's newest entry, "SEQUENCE:SHA256": why that entry, and all that came
// before it, is not there; nothing: it is.
[[nodiscard]] std::optional<ChainProblem> lost_entry(const std::string& folder,
                                                     const std::string& noted);

// Every entry of the chain; a file that cannot be read is named in `unreadable`, with the reason.
// Its `chain` says nothing yet.
[[nodiscard]] Result<ReportSource> read_chain(const std::string& folder,
                                              std::vector<std::string>& unreadable);

}  // namespace reclaim::cli
