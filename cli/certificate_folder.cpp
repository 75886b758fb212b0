#include "cli/certificate_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "state/base/durable_file.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/visible.h"
#include "state/certificate/file_ledger.h"

namespace reclaim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeyEnding = ".pub";
constexpr std::string_view kNoteEnding = ".head";
constexpr std::size_t kNoteBytesMax = 4096;

std::string beside_keys(const CertificateOptions& options, const ChainPlace& place,
                        std::string_view ending) {
  return fmt::format("{}/{}{}", options.public_keys.front(), place.host, ending);
}

// The note that is meant, and where it stands.
struct Noted {
  std::string source;
  Result<std::string> text;
};
std::optional<Noted> noted_of(const CertificateOptions& options, const ChainPlace& place) {
  if (place.host.empty()) {
    if (options.expect.empty()) return std::nullopt;
    return Noted{"--expect", options.expect};
  }
  const std::string path = beside_keys(options, place, kNoteEnding);
  std::error_code code;
  if (fs::symlink_status(path, code).type() == fs::file_type::not_found) return std::nullopt;
  const auto file = durable_file::File::open_regular(path);
  Noted note{path, file.ok() ? file->read_all(kNoteBytesMax) : Result<std::string>(file.error())};
  if (note.text.ok() && note.text->ends_with('\n')) note.text->pop_back();
  return note;
}

struct NotedEntry {
  std::uint64_t sequence;
  std::string digest;
};
Result<NotedEntry> parse_noted(const std::string& noted) {
  const std::size_t colon = noted.find(':');
  const auto sequence = parse_number<std::uint64_t>(noted.substr(0, colon));
  std::string digest = colon == std::string::npos ? "" : noted.substr(colon + 1);
  if (sequence && is_digest(digest) && noted == fmt::format("{}:{}", *sequence, digest)) {
    return NotedEntry{*sequence, std::move(digest)};
  }
  return Error{Errc::usage, fmt::format("'{}' is not SEQUENCE:SHA256, the number of an entry and "
                                        "the digest that was noted of it, as `reclaim certificate "
                                        "verify` prints them",
                                        printable_excerpt(noted))};
}

Status check_names(const CertificateOptions& options) {
  std::vector<std::string> names = options.named;
  names.insert(names.end(), options.public_keys.begin(), options.public_keys.end());
  names.push_back(options.folder);
  for (const std::string& name : names) {
    if (std::none_of(name.begin(), name.end(), is_control)) continue;
    return Error{Errc::usage, fmt::format("'{}' has a control character in its name: give it "
                                          "another one first",
                                          visible(name))};
  }
  return Ok{};
}

}  // namespace

std::string folder_of(const config::Settings& settings, const CertificateOptions& options) {
  return options.folder.empty() ? certificates_folder(settings.state_path) : options.folder;
}

Result<std::vector<ChainPlace>> chains_of(const config::Settings& settings,
                                          const CertificateOptions& options) {
  if (!options.all_hosts) return std::vector<ChainPlace>{{"", folder_of(settings, options)}};
  const std::string& mirror = options.folder.empty() ? settings.mirror_dir : options.folder;
  if (mirror.empty()) {
    return Error{Errc::usage,
                 "--all-hosts reads the mirror of all chains, and [certificates] mirror_dir is not "
                 "set here: name the mirror with --folder"};
  }
  std::vector<ChainPlace> places;
  std::error_code code;
  for (fs::directory_iterator it(mirror, code), end; !code && it != end; it.increment(code)) {
    std::string host = it->path().filename();
    // A folder that is shared may hold what others put there: no link is followed.
    if (host.starts_with('.') || !fs::is_directory(it->symlink_status(code))) continue;
    if (options.host.empty() || options.host == host) {
      places.push_back({std::move(host), it->path()});
    }
  }
  if (code) return Error{Errc::failed, fmt::format("{}: {}", mirror, code.message())};
  std::sort(places.begin(), places.end(),
            [](const ChainPlace& a, const ChainPlace& b) { return a.host < b.host; });
  if (!places.empty()) return places;
  return Error{Errc::not_found,
               fmt::format("{} has no folder of {}: is it the mirror of certificates?", mirror,
                           options.host.empty() ? "any host" : "the host " + options.host)};
}

Result<std::vector<std::string>> without_chain(const CertificateOptions& options,
                                               const std::vector<ChainPlace>& places) {
  std::set<std::string> hosts;
  if (!options.all_hosts || options.public_keys.size() != 1) return std::vector<std::string>();
  const std::string& keys = options.public_keys.front();
  std::error_code code;
  if (!fs::is_directory(keys, code)) return std::vector<std::string>();
  for (fs::directory_iterator it(keys, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename();
    if (name.starts_with('.')) continue;
    if (!name.ends_with(kKeyEnding) && !name.ends_with(kNoteEnding)) {
      return Error{Errc::invalid, fmt::format("{} is neither HOST.pub nor HOST.head: name it after "
                                              "its host, or take it out of the folder",
                                              it->path().string())};
    }
    const std::string host = name.substr(0, name.rfind('.'));
    const bool has_one = std::any_of(places.begin(), places.end(),
                                     [&](const ChainPlace& each) { return each.host == host; });
    if (!has_one && (options.host.empty() || options.host == host)) hosts.insert(host);
  }
  if (code) return Error{Errc::failed, fmt::format("{}: {}", keys, code.message())};
  return std::vector<std::string>(hosts.begin(), hosts.end());
}

std::string hosts_of(const std::vector<ChainPlace>& places) {
  std::string names;
  for (const ChainPlace& place : places) names += (names.empty() ? "" : ", ") + place.host;
  return fmt::format(
      "of the chains of {}: {}; what a host did that has no folder in the mirror is not here",
      counted(places.size(), "host"), names);
}

Result<std::vector<PublicKey>> keys_of(const config::Settings& settings,
                                       const CertificateOptions& options, const ChainPlace& place) {
  if (place.host.empty()) return keys_of(settings, options);
  if (options.public_keys.size() != 1 || !fs::is_directory(options.public_keys.front())) {
    return Error{Errc::invalid,
                 "the public key of each host is needed: --public-key FOLDER, one with HOST.pub of "
                 "each"};
  }
  if (Status may = check_names(options); !may.ok()) return std::move(may).error();
  auto keys = PublicKey::load_all(beside_keys(options, place, kKeyEnding));
  if (!keys.ok()) return keys.error().wrap("the host's public key is needed");
  return keys;
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
  return options.all_hosts || !options.folder.empty() || !options.public_keys.empty() ||
         !options.expect.empty();
}

Result<ChainListing> list_named(const std::string& folder, const CertificateOptions& options) {
  auto listing = list_chain(folder);
  if (listing.ok() && listing->files.empty() && must_have_entry(options)) {
    return Error{Errc::not_found, fmt::format("{}: {}", folder, kNoEntry)};
  }
  return listing;
}

std::vector<ChainProblem> unused_keys(const ChainReport& report,
                                      const std::vector<PublicKey>& must_sign) {
  std::vector<ChainProblem> unused;
  if (report.count == 0) return unused;
  for (const PublicKey& key : must_sign) {
    if (report.signers.contains(key.id())) continue;
    unused.push_back({"key " + key.id(),
                      "has signed nothing in this chain: it was cut before that key's first entry, "
                      "or the key has not been used yet, or is another host's: verify each host's "
                      "files in a command of its own, with all keys of that host and no others",
                      false});
  }
  return unused;
}

Status check_expected(const CertificateOptions& options) {
  if (options.expect.empty()) return Ok{};
  const auto noted = parse_noted(options.expect);
  return noted.ok() ? Status(Ok{}) : Status(noted.error().wrap("--expect"));
}

std::optional<ChainProblem> lost_entry(const CertificateOptions& options, const ChainPlace& place) {
  const auto note = noted_of(options, place);
  if (!note) return std::nullopt;
  if (!note->text.ok()) return ChainProblem{note->source, note->text.error().what};
  const auto noted = parse_noted(*note->text);
  if (!noted.ok()) return ChainProblem{note->source, noted.error().what};
  const auto listing = list_chain(place.folder);
  if (!listing.ok()) return ChainProblem{note->source, listing.error().what};
  const auto is_it = [&](const ChainFile& file) {
    if (file.sequence != noted->sequence) return false;
    const auto text = read_sealed(place.folder, file.name);
    return text.ok() && sha256_of(*text) == noted->digest;
  };
  if (std::any_of(listing->files.begin(), listing->files.end(), is_it)) return std::nullopt;
  return ChainProblem{fmt::format("entry {}", noted->sequence),
                      "is not there as it was noted: the chain was cut, or another history was "
                      "written; compare with a copy"};
}

Result<ReportSource> read_chain(const ChainPlace& place, const DoubtedEntries& doubted,
                                std::vector<std::string>& unreadable) {
  const std::string& folder = place.folder;
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  ReportSource source;
  source.host = place.host;
  for (const ChainFile& file : listing->files) {
    const auto opened = open_entry(folder, file.name);
    const bool is_void = doubted.revoked.contains(file.name);
    const bool is_disputed = doubted.disputed.contains(file.name);
    const bool is_unproven = doubted.unproven.contains(file.name);
    Status read = opened.ok() ? Status(Ok{}) : Status(opened.error());
    if (opened.ok() && opened->kind == SealedKind::certificate) {
      auto certificate = decode_certificate(opened->content);
      if (certificate.ok() && !is_void) {
        source.erasures.push_back(
            {file.sequence, *std::move(certificate), is_unproven, is_disputed});
      } else if (!certificate.ok()) {
        read = certificate.error();
      }
    } else if (opened.ok()) {
      auto entry = decode_audit(opened->content);
      if (entry.ok()) {
        source.audit.push_back(
            {file.sequence, *std::move(entry), is_void || is_disputed, is_unproven, file.name});
      } else {
        read = entry.error();
      }
    }
    if (!read.ok()) {
      unreadable.push_back(fmt::format("{}/{}: {}", folder, file.name, read.error().what));
    }
  }
  auto events = drive_events(folder, doubted);
  if (!events.ok()) return std::move(events).error();
  source.events = *std::move(events);
  return source;
}

}  // namespace reclaim::cli
