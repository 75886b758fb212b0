#include "cli/certificate_folder.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/visible.h"
#include "state/certificate/file_ledger.h"

namespace reclaim::cli {
namespace {

Status check_names(const CertificateOptions& options) {
  std::vector<std::string> names = options.named;
  names.insert(names.end(), options.public_keys.begin(), options.public_keys.end());
  names.push_back(options.folder);
  for (const std::string& name : names) {
    if (std::none_of(name.begin(), name.end(), is_control)) continue;
    return Error{Errc::invalid, fmt::format("'{}' has a control character in its name: give it "
                                            "another one first",
                                            visible(name))};
  }
  return Ok{};
}

}  // namespace

std::string folder_of(const config::Settings& settings, const CertificateOptions& options) {
  return options.folder.empty() ? certificates_folder(settings.state_path) : options.folder;
}

Result<std::vector<PublicKey>> keys_of(const config::Settings& settings,
                                       const CertificateOptions& options) {
  if (Status may = check_names(options); !may.ok()) return std::move(may).error();
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

std::optional<ChainProblem> lost_entry(const std::string& folder, const std::string& noted) {
  const std::size_t colon = noted.find(':');
  const auto sequence = parse_number<std::uint64_t>(noted.substr(0, colon));
  const std::string digest = colon == std::string::npos ? "" : noted.substr(colon + 1);
  if (!sequence || !is_digest(digest) || noted != fmt::format("{}:{}", *sequence, digest)) {
    return ChainProblem{"--expect", fmt::format("'{}' is not SEQUENCE:SHA256, the number of an "
                                                "entry and the digest that was noted of it, as "
                                                "`reclaim certificate verify` prints them",
                                                printable_excerpt(noted))};
  }
  const auto listing = list_chain(folder);
  if (!listing.ok()) return ChainProblem{"--expect", listing.error().what};
  const auto is_it = [&](const ChainFile& file) {
    if (file.sequence != *sequence) return false;
    const auto text = read_sealed(folder, file.name);
    return text.ok() && sha256_of(*text) == digest;
  };
  if (std::any_of(listing->files.begin(), listing->files.end(), is_it)) return std::nullopt;
  return ChainProblem{fmt::format("entry {}", *sequence),
                      "is not there as it was noted: the chain was cut, or another history was "
                      "written; compare with a copy"};
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
