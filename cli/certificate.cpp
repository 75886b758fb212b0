// reclaim certificate show|verify|head and audit list: over the folder of sealed certificates
// and audit entries; needs neither Redis nor the worker, so that an auditor runs it over a copy.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "cli/certificate_folder.h"
#include "cli/certificate_page.h"
#include "cli/commands.h"
#include "state/base/check.h"
#include "state/base/clock.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/certificate/chain.h"
#include "state/device/record.h"
#include "state/ledger/audit.h"

namespace reclaim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdPrefixMin = 4;

std::string text_of(const rapidjson::Document& certificate, std::string_view name) {
  return json::maybe_string(certificate, name).value_or("");
}

Result<rapidjson::Document> open_certificate(const std::string& text, std::uint64_t* sequence) {
  auto sealed = open_seal(text);
  if (!sealed.ok()) return std::move(sealed).error();
  *sequence = sealed->sequence;
  return json::parse(sealed->content, kSealedBytesMax);
}

// Finds an entry's file by its ID, its number, or the beginning of its ID; a word that means two
// entries is an error. An ID begins with eight digits at most, so a number of nine is nothing else.
Result<ChainFile> find_file(const std::string& folder, const std::string& named) {
  auto listing = list_chain(folder);
  if (!listing.ok()) return std::move(listing).error();
  const std::string id = lower(named);
  const auto number = parse_number<std::uint64_t>(named);
  std::vector<ChainFile> begin_so;
  std::vector<ChainFile> numbered;
  for (ChainFile& file : listing->files) {
    if (file.id == id) return std::move(file);
    if (number && file.sequence == *number) {
      numbered.push_back(std::move(file));
    } else if (id.size() >= kIdPrefixMin && file.id.starts_with(id)) {
      begin_so.push_back(std::move(file));
    }
  }
  if (!numbered.empty() && !begin_so.empty()) {
    return Error{Errc::invalid,
                 fmt::format("{} is a number, and the beginning of the ID {} too: give more of the "
                             "ID, or the number with nine digits, {:09}",
                             id, begin_so.front().id, *number)};
  }
  if (!numbered.empty()) return std::move(numbered.front());
  if (begin_so.size() == 1) return std::move(begin_so.front());
  if (!begin_so.empty()) {
    return Error{Errc::invalid,
                 fmt::format("{} certificates begin with {}: give more of the ID, or the number",
                             begin_so.size(), id)};
  }
  return Error{Errc::not_found,
               fmt::format("no certificate {} in {} (an ID, its first {} characters or more, or a "
                           "number is accepted): `reclaim certificate list` shows which there are",
                           printable_excerpt(named), folder, kIdPrefixMin)};
}

Cell cell_of(const rapidjson::Value& value) {
  if (value.IsString()) return std::string(value.GetString(), value.GetStringLength());
  if (value.IsBool()) return value.GetBool();
  if (value.IsInt64()) return value.GetInt64();
  if (value.IsNull()) return std::monostate();
  return RawJson{json::to_text(value)};
}

// Collects verdicts: a row for each thing looked at.
class Verdicts final {
 public:
  void good(std::string name, std::string detail) { add(std::move(name), "ok", detail); }
  void bad(std::string name, std::string detail) {
    add(std::move(name), "BAD", detail);
    bad_ = true;
  }
  void none(std::string name, std::string detail) { add(std::move(name), "none", detail); }
  void revoked(std::string name, std::string detail) { add(std::move(name), "revoked", detail); }
  void unerased(std::string name, std::string detail) {
    add(std::move(name), "UNERASED", detail);
    unerased_ = true;
  }
  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] int exit_code() const {
    if (bad_) return 1;
    return unerased_ ? kUnerasedExit : 0;
  }

 private:
  void add(std::string name, std::string result, std::string& detail) {
    table_.rows.push_back({std::move(name), std::move(result), std::move(detail)});
  }
  static constexpr int kUnerasedExit = 2;
  Table table_{{"Certificate", "Result", "Detail"}, {}};
  bool bad_ = false;
  bool unerased_ = false;
};

// "entry 3 (2026-11-20T21:22:44.000Z, instance 0a4e…)"
std::string in_words(const DriveEvent& tenancy) {
  return fmt::format("entry {} ({}{}{})", tenancy.sequence, to_iso8601(tenancy.at),
                     tenancy.instance.empty() ? "" : ", instance " + tenancy.instance,
                     tenancy.is_void ? ", by an entry that proves nothing there" : "");
}

// `must_have_one`: who names a folder, a key or a noted entry means a chain that has entries.
Status verify_folder(const std::string& folder, const ChainReport& report, bool must_have_one,
                     Verdicts& verdicts) {
  for (const ChainProblem& problem : report.problems) verdicts.bad(problem.file, problem.what);
  if (report.count == 0 && must_have_one) {
    verdicts.bad(folder, std::string(kNoEntry));
  } else if (report.count == 0 && report.problems.empty()) {
    verdicts.none(folder, extent_of(report));
  } else if (report.problems.empty()) {
    verdicts.good(folder, extent_of(report));
  }
  for (const auto& [key_id, said] : report.revoked) {
    verdicts.revoked(fmt::format("entry {}", said.entry),
                     fmt::format("key {} is revoked from entry {} on ({}); what it signed before "
                                 "that counts",
                                 key_id, said.from, said.reason));
  }
  const auto events = drive_events(folder, report.doubted);
  if (!events.ok()) return events.error();
  for (const MissingErasure& each : find_missing_erasures(*events)) {
    verdicts.unerased(each.tenancy.drive,
                      fmt::format("no erasure between the tenancy of {} and that of {}{}",
                                  in_words(each.tenancy), in_words(each.next),
                                  each.is_proven ? ""
                                                 : "; only with entries that no known key "
                                                   "signed"));
  }
  return Ok{};
}

// Says what speaks against one of a chain's entries, or what passes for one; empty: nothing.
std::string why_not_of_chain(const std::string& folder, const std::string& text,
                             const Sealed& sealed, const ChainReport& chain,
                             const std::vector<PublicKey>& must_sign) {
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error().what;
  const auto at =
      std::find_if(listing->files.begin(), listing->files.end(),
                   [&](const ChainFile& file) { return file.sequence == sealed.sequence; });
  const auto there = at == listing->files.end() ? Result<std::string>(std::string())
                                                : read_sealed(folder, at->name);
  if (!there.ok()) return there.error().what;
  if (*there != text) {
    return fmt::format("is not entry {} of the chain in {}", sealed.sequence, folder);
  }
  const auto& problems = chain.problems;
  const auto problem = std::find_if(problems.begin(), problems.end(),
                                    [&](const ChainProblem& one) { return one.file == at->name; });
  if (problem != problems.end()) return problem->what;
  if (chain.broken()) {
    return fmt::format(
        "the chain in {} is broken, so that no entry of it is proven by itself: "
        "`reclaim certificate verify` without a name tells where",
        folder);
  }
  // Who names an entry of a chain gives the keys of that chain.
  const auto unused = unused_keys(chain, must_sign);
  if (unused.empty()) return {};
  return fmt::format("is in {}, but {} {}", folder, unused.front().file, unused.front().what);
}

// "certificate of serial 'S1'", "audit quarantined of serial 'S1'".
std::string kind_of(const Sealed& sealed) {
  const auto content = json::parse(sealed.content, kSealedBytesMax);
  CHECK(content.ok());
  const std::string event = text_of(*content, "event");
  return fmt::format("{}{}{} of serial '{}'", to_string(sealed.kind), event.empty() ? "" : " ",
                     event, text_of(*content, "serial"));
}

// True if a reader would take it for an entry's name: "000000002-ID.json", also with more digits or
// in upper case.
bool names_an_entry(std::string_view name) {
  constexpr std::size_t kDigitsMin = 9;
  constexpr std::string_view kEnding = ".json";
  const std::size_t dash = std::min(name.find('-'), name.size());
  return dash >= kDigitsMin && name.find_first_not_of("0123456789") == dash &&
         name.ends_with(kEnding) &&
         looks_like_uuid(name.substr(dash + 1, name.size() - dash - 1 - kEnding.size()));
}

// True if a file that rests on these keys has to be the chain's own entry: one is signed with such
// a key, or revokes it, or none can be read, so that nobody knows.
bool speaks_of(const ChainReport& chain, const std::set<std::string>& key_ids) {
  if (chain.signers.empty()) return chain.count > 0;
  return std::any_of(key_ids.begin(), key_ids.end(), [&](const std::string& key_id) {
    return chain.signers.contains(key_id) || chain.revoked.contains(key_id);
  });
}

// The folders with a chain's head that a file is in: of a link, where it leads to comes first.
Result<std::vector<std::string>> folders_of(const fs::path& path) {
  std::error_code failed;
  const fs::path file = fs::canonical(path, failed);
  const fs::path lies = failed ? fs::path() : fs::canonical(path.parent_path() / ".", failed);
  if (failed) return Error{Errc::failed, fmt::format("cannot be found: {}", failed.message())};
  std::vector<std::string> folders;
  for (const fs::path& folder : {file.parent_path(), lies}) {
    const auto head = fs::symlink_status(folder / "head", failed).type();
    if (head == fs::file_type::not_found) continue;
    if (folders.empty() || folders.front() != folder) folders.push_back(folder);
  }
  return folders;
}

// Verifies, one by one, entries of a chain by their names there, and files wherever they are. A
// file by a key of the chain where it is, or of `folder`'s, has to be in that; one by another key
// is another host's, or of a chain that is not at hand.
class Files final {
 public:
  Files(const std::string& folder, const ChainReport& chain, const std::vector<PublicKey>& keys,
        const std::vector<PublicKey>& must_sign)
      : folder_(folder), chain_(chain), keys_(keys), must_sign_(must_sign) {}

  void verify(const std::string& named, Verdicts& verdicts) {
    const auto file = find_file(folder_, named);
    const auto text = file.ok() ? read_sealed(folder_, file->name) : read_sealed(named);
    if (!text.ok()) {
      const bool path = named.find('/') != std::string::npos || named.ends_with(".json");
      return verdicts.bad(named, path || file.ok() ? text.error().what : file.error().what);
    }
    const auto sealed = open_seal(*text);
    if (!sealed.ok()) return verdicts.bad(named, sealed.error().what);
    const std::string own = fs::path(file.ok() ? file->name : named).filename();
    if (names_an_entry(own) && own != sealed_name(sealed->sequence, sealed->id)) {
      return verdicts.bad(named, fmt::format("{} holds entry {} with the id {}: it was renamed",
                                             own, sealed->sequence, sealed->id));
    }
    const auto places = file.ok() ? Places{{folder_, &chain_}} : places_of(named, sealed->key_id);
    if (!places.ok()) return verdicts.bad(named, places.error().what);
    if (std::string why = why_not(*text, *sealed, *places); !why.empty()) {
      return verdicts.bad(named, std::move(why));
    }
    verdicts.good(named, fmt::format("number {}, {}, signed with key {}", sealed->sequence,
                                     kind_of(*sealed), sealed->key_id));
  }

 private:
  // The chains that a file has to be in, and their folders.
  using Places = std::vector<std::pair<std::string, const ChainReport*>>;

  // Whoever has a leaked key endorses his own with it, in a chain that he makes: a file by a key
  // that was not given rests on all keys of the chain where it is.
  Result<Places> places_of(const std::string& path, const std::string& key_id) {
    const auto folders = folders_of(path);
    if (!folders.ok()) return folders.error();
    Places places;
    std::set<std::string> key_ids = {key_id};
    const bool given = std::any_of(keys_.begin(), keys_.end(),
                                   [&](const PublicKey& key) { return key.id() == key_id; });
    for (const std::string& folder : *folders) {
      auto known = elsewhere_.find(folder);
      if (known == elsewhere_.end()) {
        known = elsewhere_.emplace(folder, check_chain(folder, keys_)).first;
      }
      if (!known->second.ok()) return known->second.error();
      const ChainReport& chain = *known->second;
      if (!speaks_of(chain, key_ids)) continue;
      places.emplace_back(folder, &chain);
      if (!given) key_ids.insert(chain.signers.begin(), chain.signers.end());
    }
    if (speaks_of(chain_, key_ids)) places.emplace_back(folder_, &chain_);
    return places;
  }

  // Says what speaks against it; empty: nothing.
  std::string why_not(const std::string& text, const Sealed& sealed, const Places& places) const {
    const auto alone =
        check_sealed(text, places.empty() ? chain_.keys : places.front().second->keys);
    if (!alone.ok() && alone.error().code != Errc::not_found) return alone.error().what;
    for (const auto& [folder, chain] : places) {
      std::string why = why_not_of_chain(folder, text, sealed, *chain, must_sign_);
      if (!why.empty()) return why;
    }
    return alone.ok() ? std::string() : alone.error().what;
  }

  const std::string& folder_;
  const ChainReport& chain_;
  const std::vector<PublicKey>& keys_;
  const std::vector<PublicKey>& must_sign_;
  std::map<std::string, Result<ChainReport>> elsewhere_;  // by folder, each walked once
};

void verify_expected(const std::string& folder, const CertificateOptions& options,
                     Verdicts& verdicts) {
  if (const auto lost = lost_entry(options, {"", folder})) {
    return verdicts.bad(lost->file, lost->what);
  }
  const std::string& noted = options.expect;
  verdicts.good("entry " + noted.substr(0, noted.find(':')),
                "is there as it was noted, and so is what came before it");
}

}  // namespace

int run_certificate_show(const config::Settings& settings, const CertificateOptions& options,
                         std::ostream& out, std::ostream& err) {
  const std::string folder = folder_of(settings, options);
  const auto file = find_file(folder, options.named.front());
  if (!file.ok()) return complain(err, file.error());
  const auto text = read_sealed(folder, file->name);
  if (!text.ok()) return complain(err, text.error());
  const auto sealed = open_seal(*text);
  if (!sealed.ok()) return complain(err, sealed.error().wrap(file->name));
  std::uint64_t sequence = 0;
  const auto certificate = open_certificate(*text, &sequence);
  if (!certificate.ok()) return complain(err, certificate.error());
  if (options.html) {
    out << certificate_page(
        *certificate,
        {sequence, sealed->previous, sealed->key_id, folder + "/" + file->name, sha256_of(*text)},
        {settings.organization, settings.signatory});
    return 0;
  }
  Fields fields;
  for (const auto& member : certificate->GetObject()) {
    fields.emplace_back(member.name.GetString(), cell_of(member.value));
  }
  fields.emplace_back("sequence", static_cast<std::int64_t>(sequence));
  fields.emplace_back("previous", sealed->previous);
  fields.emplace_back("key_id", sealed->key_id);
  fields.emplace_back("file", folder + "/" + file->name);
  const auto printed = format_show(fields, options.view);
  if (!printed) return complain(err, printed.error());
  out << *printed;
  return 0;
}

int run_certificate_verify(const config::Settings& settings, const CertificateOptions& options,
                           std::ostream& out, std::ostream& err) {
  if (Status meant = check_expected(options); !meant.ok()) return complain(err, meant.error());
  const auto keys = keys_of(settings, options);
  if (!keys.ok()) return complain(err, keys.error());
  const std::string folder = folder_of(settings, options);
  const bool whole = options.all || options.named.empty() || !options.expect.empty();
  auto chain = check_chain(folder, *keys);
  if (!chain.ok()) {
    if (whole || !options.folder.empty()) return complain(err, chain.error());
    chain = ChainReport{};
    chain->keys = *keys;
  }
  Verdicts verdicts;
  const auto must_sign = options.public_keys.empty() ? std::vector<PublicKey>() : *keys;
  Files files(folder, *chain, *keys, must_sign);
  for (const std::string& named : options.named) files.verify(named, verdicts);
  if (whole) {
    if (Status looked = verify_folder(folder, *chain, must_have_entry(options), verdicts);
        !looked.ok()) {
      return complain(err, looked.error());
    }
    for (const ChainProblem& problem : unused_keys(*chain, must_sign)) {
      verdicts.bad(problem.file, problem.what);
    }
  } else if (chain->count == 0 && !options.folder.empty()) {
    verdicts.bad(folder, std::string(kNoEntry));
  }
  if (!options.expect.empty()) verify_expected(folder, options, verdicts);
  const auto text = format_list(verdicts.table(), options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  return verdicts.exit_code();
}

int run_audit_list(const config::Settings& settings, const CertificateOptions& options,
                   std::ostream& out, std::ostream& err) {
  const std::string folder = folder_of(settings, options);
  const auto listing = list_named(folder, options);
  if (!listing.ok()) return complain(err, listing.error());
  Table table{{"Sequence", "At", "Event", "Address", "Serial", "Instance", "Project", "Detail"},
              {},
              {"Project", "Instance", "Sequence", "Address", "Serial"}};
  const bool for_people = options.view.format == Format::table;
  const auto at_text = [for_people](WallMs at) {
    return for_people ? to_iso8601_seconds(at) : to_iso8601(at);
  };
  int exit_code = 0;
  for (const ChainFile& file : listing->files) {
    const auto opened = open_entry(folder, file.name);
    const auto sequence = static_cast<std::int64_t>(file.sequence);
    if (opened.ok() && opened->kind == SealedKind::certificate) {
      if (const auto it = decode_certificate(opened->content); it.ok()) {
        table.rows.push_back(
            {sequence, at_text(it->ended_at()), std::string("erased"), it->address, it->serial,
             it->instance, it->project,
             fmt::format("{}, {}; certificate {}", it->method,
                         it->returned() ? "released" : "not returned: " + it->not_returned,
                         it->id)});
        continue;
      }
    } else if (opened.ok()) {
      if (const auto it = decode_audit(opened->content); it.ok()) {
        table.rows.push_back({sequence, at_text(it->at), std::string(to_string(it->event)),
                              it->address, it->serial, it->instance, it->project, detail_of(*it)});
        continue;
      }
    }
    say(err, fmt::format("reclaim: {}/{}: cannot be read; `reclaim certificate verify` tells more",
                         folder, file.name));
    exit_code = 1;
  }
  const auto text = format_list(table, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  if (listing->files.empty()) err << "nothing has happened here yet\n";
  return exit_code;
}

int run_certificate_head(const config::Settings& settings, const CertificateOptions& options,
                         std::ostream& out, std::ostream& err) {
  const auto keys = keys_of(settings, options);
  if (!keys.ok()) return complain(err, keys.error());
  const std::string folder = folder_of(settings, options);
  const auto newest = check_chain(folder, *keys, 1);
  if (!newest.ok()) return complain(err, newest.error());
  if (!newest->problems.empty()) {
    const ChainProblem& first = newest->problems.front();
    return complain(err, Error{Errc::refused, fmt::format("{}: {}: `reclaim certificate verify` "
                                                          "tells more",
                                                          first.file, first.what)});
  }
  if (newest->count == 0) {
    return complain(err, Error{Errc::not_found, folder + ": holds no certificate yet"});
  }
  out << newest->last_sha256 << "  " << newest->last_name << '\n';
  return 0;
}

}  // namespace reclaim::cli
