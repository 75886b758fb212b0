#include "cli/certificate_folder.h"

#include <fmt/core.h>

#include "state/certificate/file_ledger.h"

namespace reclaim::cli {

std::string folder_of(const config::Settings& settings, const CertificateOptions& options) {
  return options.folder.empty() ? certificates_folder(settings.state_path) : options.folder;
}

Result<std::vector<PublicKey>> keys_of(const config::Settings& settings,
                                       const CertificateOptions& options) {
  const std::string& given = settings.signing_key;
  std::vector<std::string> paths = options.public_keys;
  if (paths.empty()) {
    paths = {(given.empty() ? default_signing_key(settings.state_path) : given) + ".pub"};
  }
  std::vector<PublicKey> keys;
  for (const std::string& path : paths) {
    auto key = PublicKey::load(path);
    if (!key.ok()) return key.error().wrap("a public key is needed (--public-key FILE)");
    keys.push_back(*std::move(key));
  }
  return keys;
}

bool must_have_entry(const CertificateOptions& options) {
  return !options.folder.empty() || !options.public_keys.empty() || !options.expect.empty();
}

std::vector<ChainProblem> unused_keys(const ChainReport& report, const CertificateOptions& options,
                                      const std::vector<PublicKey>& keys) {
  std::vector<ChainProblem> unused;
  if (options.public_keys.empty() || report.count == 0) return unused;
  for (const PublicKey& key : keys) {
    if (report.signers.contains(key.id())) continue;
    unused.push_back({"key " + key.id(),
                      "has signed nothing in this chain: it was cut before that key's first entry, "
                      "or the key is not of this host, or has not been used yet",
                      false});
  }
  return unused;
}

Result<ReportSource> read_chain(const std::string& folder, std::vector<std::string>& unreadable) {
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  ReportSource source;
  for (const ChainFile& file : listing->files) {
    const auto opened = open_entry(folder, file.name);
    Status read = opened.ok() ? Status(Ok{}) : Status(opened.error());
    if (opened.ok() && opened->kind == SealedKind::certificate) {
      auto certificate = decode_certificate(opened->content);
      if (certificate.ok()) {
        source.erasures.push_back({file.sequence, *std::move(certificate)});
      } else {
        read = certificate.error();
      }
    } else if (opened.ok()) {
      auto entry = decode_audit(opened->content);
      if (entry.ok()) {
        source.audit.push_back({file.sequence, *std::move(entry)});
      } else {
        read = entry.error();
      }
    }
    if (!read.ok()) {
      unreadable.push_back(fmt::format("{}/{}: {}", folder, file.name, read.error().what));
    }
  }
  auto events = drive_events(folder);
  if (!events.ok()) return std::move(events).error();
  source.unerased = find_missing_erasures(*events);
  return source;
}

}  // namespace reclaim::cli
