#include "state/certificate/chain.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include "state/base/durable_file.h"
#include "state/base/log.h"
#include "state/device/record.h"

namespace reclaim {
namespace {

namespace fs = std::filesystem;
using durable_file::File;

constexpr std::string_view kHead = "head";
constexpr std::size_t kHeadBytesMax = 4096;
constexpr std::size_t kDigestChars = 64;

struct Head {
  std::string sha256;
  std::string name;
  std::uint64_t sequence = 0;
};

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const Result<File> file = File::open_regular(path);
  return file.ok() ? file->read_all(bytes_max) : Result<std::string>(file.error());
}

Status make_folder(const std::string& folder) {
  const std::string parent = fs::path(folder).parent_path().string();
  if (::mkdir(folder.c_str(), 0750) == 0) return durable_file::sync_folder(parent);
  if (errno == EEXIST) return Ok{};
  return Error{Errc::failed, fmt::format("cannot create {}: {}", folder, std::strerror(errno)),
               errno};
}

// Nothing: there is no such file.
Result<std::optional<Head>> read_head(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kHead);
  auto text = read_file(path, kHeadBytesMax);
  if (!text.ok() && text.error().raw == ENOENT) return std::optional<Head>();
  if (!text.ok()) return std::move(text).error();
  if (text->size() > kDigestChars + 3 && text->substr(kDigestChars, 2) == "  " &&
      text->back() == '\n') {
    Head head;
    head.sha256 = text->substr(0, kDigestChars);
    head.name = text->substr(kDigestChars + 2, text->size() - kDigestChars - 3);
    const auto name = parse_sealed_name(head.name);
    if (name.ok()) {
      head.sequence = name->sequence;
      return std::optional<Head>(std::move(head));
    }
  }
  return Error{Errc::invalid,
               fmt::format("{}: is not one line 'SHA-256  NAME' of the newest certificate", path)};
}

Status write_head(const std::string& folder, const std::string& name, const std::string& sha256) {
  return durable_file::replace_file(folder, std::string(kHead),
                                    fmt::format("{}  {}\n", sha256, name));
}

Error damaged(const std::string& folder, const std::string& name, std::string_view what) {
  return Error{Errc::invalid,
               fmt::format("{}/{}: {}; no certificate is sealed behind a damaged end: `reclaim "
                           "certificate verify` tells more. Put the file back, or move the whole "
                           "folder away, keep it for the auditor, and a new chain begins",
                           folder, name, what)};
}

// The end of the chain, to which the next certificate is chained.
struct End {
  std::uint64_t sequence = 0;
  std::string sha256{kNoPrevious};
};

// The newest file, held against what `head` says of it, or of the one before it when a crash came
// between the two; then the head is written again.
Result<End> end_of(const std::string& folder, const std::vector<ChainFile>& files) {
  auto read = read_head(folder);
  if (!read.ok()) return damaged(folder, std::string(kHead), read.error().what);
  const std::optional<Head>& head = *read;
  const std::uint64_t expected = head ? head->sequence : 0;
  if (files.empty()) {
    if (!head) return End{};
    return damaged(folder, head->name, "the newest entry is missing");
  }
  const ChainFile& last = files.back();
  if (last.sequence < expected) return damaged(folder, head->name, "is missing");
  if (last.sequence > expected + 1) {
    return damaged(folder, last.name,
                   head ? fmt::format("the head names {}, which is not the one before", head->name)
                        : "no head names the one before");
  }
  if (files.size() > 1 && files[files.size() - 2].sequence == last.sequence) {
    return damaged(folder, last.name,
                   fmt::format("has the place of {} as well", files[files.size() - 2].name));
  }
  const auto text = read_sealed(folder, last.name);
  if (!text.ok()) return damaged(folder, last.name, text.error().what);
  End end{last.sequence, sha256_of(*text)};
  if (last.sequence == expected) {
    if (end.sha256 != head->sha256 || last.name != head->name) {
      return damaged(folder, last.name, "was changed since it was sealed: the head knows another");
    }
    return end;
  }
  const auto sealed = open_seal(*text);
  if (!sealed.ok()) return damaged(folder, last.name, sealed.error().what);
  if (sealed->sequence != last.sequence || sealed->id != last.id ||
      sealed->previous != (head ? head->sha256 : std::string(kNoPrevious))) {
    return damaged(folder, last.name, "is not the one that follows what the head names");
  }
  if (Status kept = write_head(folder, last.name, end.sha256); !kept.ok()) {
    return std::move(kept).error();
  }
  return end;
}

// The walk of check_chain() over the files, with what it has seen so far.
class Walk final {
 public:
  // `head`: as it was before the folder was listed, so that what it names is among the files.
  Walk(const std::string& folder, const Result<std::optional<Head>>& head, Succession succession,
       bool from_the_first)
      : folder_(folder),
        head_(head),
        succession_(std::move(succession)),
        from_the_first_(from_the_first) {}

  void visit(const ChainFile& file) {
    const bool at_place = place(file);
    const auto text = read_sealed(folder_, file.name);
    if (!text.ok()) {
      complain(file.name, text.error().what);
      digest_.clear();
    } else {
      std::string digest = sha256_of(*text);
      content(file, *text, digest, at_place);
      digest_ = std::move(digest);
    }
    report_.count += 1;
    if (report_.first == 0) report_.first = file.sequence;
    report_.last = file.sequence;
    report_.last_sha256 = digest_;
    report_.last_name = file.name;
    name_ = file.name;
    if (head_.ok() && *head_ && name_ == (*head_)->name) digest_of_head_ = digest_;
  }

  void head() {
    if (!head_.ok()) return complain(std::string(kHead), head_.error().what);
    const std::optional<Head>& head = *head_;
    if (!head) {
      if (report_.count > 0) {
        complain(std::string(kHead), "is missing: whether the newest were taken away is not known");
      }
    } else if (head->sequence > report_.last) {
      complain(head->name, "is missing: the head says that it is the newest");
    } else if (digest_of_head_ && head->sha256 != *digest_of_head_) {
      complain(head->name, "was changed since it was sealed: the head knows another SHA-256");
      head_differs_ = true;
    } else if (head->name != name_ && !(digest_of_head_ && has_grown())) {
      complain(name_, fmt::format("the head says that {} is the newest", head->name));
      head_differs_ = true;
    }
  }

  void complain(std::string file, std::string what, bool breaks = true) {
    report_.problems.push_back({std::move(file), std::move(what), breaks});
  }
  ChainReport report(const std::vector<PublicKey>& given) && {
    report_.keys = report_.broken() ? given : succession_.keys();
    report_.revoked = succession_.revoked();
    report_.doubted.disputed = disputed();
    return std::move(report_);
  }

 private:
  // A file's place among the others.
  struct Link {
    std::string name;
    std::string digest;
    std::string previous;
    bool counts = false;  // signed with a key that proves something there
  };

  [[nodiscard]] bool any_at(std::uint64_t sequence, const auto& is) const {
    const auto [from, to] = links_.equal_range(sequence);
    return std::any_of(from, to, [&](const auto& each) { return is(each.second); });
  }

  // Who put a part of another history behind a gap has chained it as well: what does not lead back
  // to the first entry, by entries that are alone in their places, may be of either.
  [[nodiscard]] std::set<std::string> disputed() const {
    std::set<std::string> names;
    std::set<std::string> sound;  // digests
    for (const auto& [sequence, each] : links_) {
      const Link& it = each;
      const bool is_first =
          sequence == 1 || (!from_the_first_ && sequence == links_.begin()->first);
      const bool is_alone = !any_at(
          sequence, [&](const Link& other) { return other.counts && other.name != it.name; });
      const bool follows = is_first || sound.contains(it.previous);
      if (is_alone && follows) sound.insert(it.digest);
      const bool is_followed =
          !any_at(sequence + 1, [](const Link& next) { return next.counts; }) ||
          any_at(sequence + 1,
                 [&](const Link& next) { return next.counts && next.previous == it.digest; });
      const bool head_has_another =
          head_differs_ && sequence >= (*head_)->sequence && it.digest != (*head_)->sha256;
      if (!it.counts) continue;
      if (!is_alone || !follows || !is_followed || head_has_another) names.insert(it.name);
    }
    return names;
  }

  // True if the head has moved on to the last entry that was listed, or beyond. It is written a
  // moment after its entry.
  [[nodiscard]] bool has_grown() const {
    constexpr int kLooks = 50;
    constexpr std::chrono::milliseconds kPause{20};
    for (int look = 0; look < kLooks; ++look) {
      if (look > 0) std::this_thread::sleep_for(kPause);
      const auto read = read_head(folder_);
      if (!read.ok() || !*read) continue;
      const Head& head = **read;
      if (head.sequence > report_.last) return true;
      if (head.name == name_ && head.sha256 == digest_) return true;
    }
    return false;
  }

  // True if the file has the place that its name says; complains if not.
  bool place(const ChainFile& file) {
    const bool begins = report_.count == 0;
    if (begins && !from_the_first_) return true;
    if (!begins && file.sequence == report_.last) {
      complain(file.name, fmt::format("has the place of {} as well", name_));
      return false;
    }
    const std::uint64_t expected = report_.last + 1;
    if (file.sequence == expected) return true;
    complain(folder_, file.sequence - 1 == expected ? fmt::format("entry {} is missing", expected)
                                                    : fmt::format("entries {} to {} are missing",
                                                                  expected, file.sequence - 1));
    digest_.clear();
    return false;
  }

  bool follows(const ChainFile& file, const Sealed& opened) {
    if (opened.sequence != file.sequence || opened.id != file.id) {
      complain(file.name, fmt::format("holds entry {} with the id {}: it was renamed "
                                      "or put in another's place",
                                      opened.sequence, opened.id));
      return false;
    }
    const bool begins = report_.count == 0;
    if (begins ? file.sequence == 1 && opened.previous != kNoPrevious
               : !digest_.empty() && opened.previous != digest_) {
      complain(file.name, begins ? std::string("is the first, but names one before it")
                                 : fmt::format("is not chained to {} as it is now: one of the two "
                                               "was changed or replaced",
                                               name_));
      return false;
    }
    return true;
  }

  // Checks what is in the file. A file that is not at its place says nothing of keys.
  void content(const ChainFile& file, const std::string& text, const std::string& digest,
               bool at_place) {
    const auto opened = open_seal(text);
    if (!opened.ok()) return complain(file.name, opened.error().what);
    if (opened->kind == SealedKind::certificate) report_.certificates += 1;
    report_.signers.insert(opened->key_id);
    const auto sealed = check_sealed(text, succession_.keys());
    if (!sealed.ok()) {
      complain(file.name, sealed.error().what, sealed.error().code == Errc::refused);
      if (sealed.error().code == Errc::not_found) {
        report_.problems.back().unknown_key = opened->key_id;
      }
    }
    const bool is_itself = opened->sequence == file.sequence && opened->id == file.id;
    if (!sealed.ok() || !is_itself) report_.doubted.unproven.insert(file.name);
    const bool in_order = follows(file, *opened) && at_place;
    Link& link = links_.emplace(file.sequence, Link{file.name, digest, opened->previous})->second;
    if (!sealed.ok()) {
      // Known or not, a key that the chain revokes signs nothing behind that.
      const bool is_revoked =
          sealed.error().code == Errc::not_found && !succession_.check_key(*opened).ok();
      if (is_revoked) report_.doubted.revoked.insert(file.name);
      return;
    }
    link.counts = is_itself;
    // Out of its order an entry decides over no key, and such a key proves nothing there either.
    const Status may = in_order ? succession_.take(*sealed) : succession_.check_key(*sealed);
    if (!may) {
      complain(file.name, may.error().what, false);
      link.counts = false;
      report_.doubted.revoked.insert(file.name);
    }
  }

  const std::string& folder_;
  const Result<std::optional<Head>>& head_;
  std::optional<std::string> digest_of_head_;  // of the file that it names, as it is
  Succession succession_;
  bool from_the_first_;
  std::string digest_;  // of the file before; empty: not known
  std::string name_;    // of the file before
  bool head_differs_ = false;
  std::multimap<std::uint64_t, Link> links_;  // by sequence
  ChainReport report_;
};

// A device's part of an entry.
struct Told {
  std::string place;                // never a serial: those have 20 characters at most
  std::string serial;               // empty: not known then
  std::optional<DriveEvent> event;  // nothing: of no tenancy and no erasure
  bool is_void = false;
};

std::string place_of(const std::string& host, const std::string& address) {
  return fmt::format("device at {} of {}", address, host);
}

// Nothing: of no device, or it cannot be read.
std::optional<Told> told_by(const Sealed& sealed) {
  DriveEvent event;
  event.sequence = sealed.sequence;
  if (sealed.kind == SealedKind::certificate) {
    auto it = decode_certificate(sealed.content);
    if (!it.ok()) return std::nullopt;
    event.kind = DriveEvent::Kind::erasure;
    event.instance = it->instance;
    event.at = it->started_at;
    event.model = it->model;
    return Told{place_of(it->host, it->address), std::move(it->serial), std::move(event)};
  }
  auto it = decode_audit(sealed.content);
  if (!it.ok()) return std::nullopt;
  Told told{place_of(it->host, it->address), std::move(it->serial), std::nullopt};
  const bool ended = it->event == AuditEvent::tenancy_ended;
  if (ended || it->event == AuditEvent::tenancy_seen) {
    event.kind = ended ? DriveEvent::Kind::ended : DriveEvent::Kind::tenancy;
    event.instance = it->instance;
    event.at = it->at;
    told.event = std::move(event);
  }
  return told;
}

// Gives what names no serial the one that was told before of its place; by void entries, or by the
// others.
template <typename Iterator>
void name_drives(Iterator from, Iterator to, bool by_void) {
  std::map<std::string, std::string> serials;
  for (; from != to; ++from) {
    std::string& known = serials[from->place];
    if (from->serial.empty()) {
      from->serial = known;
    } else if (by_void || !from->is_void) {
      known = from->serial;
    }
  }
}

}  // namespace

Result<std::string> CertificateChain::keep(const std::string& id, const std::string& json_text,
                                           SealedKind kind) const {
  if (Status made = make_folder(folder_); !made.ok()) return std::move(made).error();
  const auto listing = list_chain(folder_);
  if (!listing.ok()) return listing.error();
  const auto& files = listing->files;
  const auto there = std::find_if(files.begin(), files.end(),
                                  [&](const ChainFile& file) { return file.id == id; });
  if (there != files.end() && there->sequence != files.back().sequence) {
    return read_sealed(folder_, there->name);
  }
  const auto end = end_of(folder_, files);
  if (!end.ok()) return end.error();
  if (there != files.end()) return read_sealed(folder_, there->name);
  if (Status may = check_key(files); !may) return std::move(may).error();
  auto text = seal(key_, end->sequence + 1, end->sha256, json_text, kind);
  if (!text.ok()) return text;
  const std::string name = sealed_name(end->sequence + 1, id);
  if (Status kept = durable_file::replace_file(folder_, name, *text); !kept.ok()) {
    return std::move(kept).error();
  }
  if (Status kept = write_head(folder_, name, sha256_of(*text)); !kept.ok()) {
    return std::move(kept).error();
  }
  return text;
}

// The one that signed the newest may go on, if that does not say otherwise. Of another one the
// whole chain tells, which happens when keys change.
Status CertificateChain::check_key(const std::vector<ChainFile>& files) const {
  if (files.empty()) return Ok{};
  const std::string& own = key_.public_key().id();
  const auto newest = open_entry(folder_, files.back().name);
  const bool goes_on = newest.ok() && newest->key_id == own;
  Succession succession({});
  for (std::size_t i = goes_on ? files.size() - 1 : 0; i < files.size(); ++i) {
    const auto entry = open_entry(folder_, files[i].name);
    if (entry.ok()) (void)succession.take(*entry);
  }
  if (const auto said = succession.revoked().find(own); said != succession.revoked().end()) {
    return Error{Errc::refused,
                 fmt::format("entry {} of {} revokes this signing key, {}: put a new key in its "
                             "place ([certificates] signing_key)",
                             said->second.entry, folder_, own)};
  }
  const auto entry = succession.retired_by(own);
  if (!entry) return Ok{};
  return Error{
      Errc::refused,
      fmt::format("entry {} of {} put another signing key in the place of this one, {}, "
                  "which may sign nothing any more: put the private half of that key, or a "
                  "new key, in its place ([certificates] signing_key)",
                  *entry, folder_, own)};
}

Status CertificateChain::check_key() const {
  const auto listing = list_chain(folder_);
  return listing.ok() ? check_key(listing->files) : Status(listing.error());
}

std::string extent_of(const ChainReport& report) {
  if (report.count == 0) return "no entry yet";
  return fmt::format(
      "entries {} to {} ({} certificate{}), whole and signed; the newest has SHA-256 {}",
      report.first, report.last, report.certificates, report.certificates == 1 ? "" : "s",
      report.last_sha256);
}

Result<ChainListing> list_chain(const std::string& folder) {
  ChainListing out;
  std::error_code code;
  if (fs::symlink_status(folder, code).type() == fs::file_type::not_found) return out;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    auto parsed = parse_sealed_name(name);
    if (parsed.ok()) {
      out.files.push_back({parsed->sequence, std::move(parsed->id), name});
    } else if (name != kHead && !(name.starts_with('.') && name.ends_with(".tmp"))) {
      out.foreign.push_back(name);  // but not what a crash left of a write
    }
  }
  if (code) {
    return Error{Errc::failed, fmt::format("cannot read {}: {}", folder, code.message()),
                 code.value()};
  }
  std::sort(out.files.begin(), out.files.end(), [](const ChainFile& a, const ChainFile& b) {
    return std::tie(a.sequence, a.name) < std::tie(b.sequence, b.name);
  });
  std::sort(out.foreign.begin(), out.foreign.end());
  return out;
}

Result<std::string> read_sealed(const std::string& folder, const std::string& name) {
  return read_sealed(fmt::format("{}/{}", folder, name));
}

Result<std::string> read_sealed(const std::string& path) {
  return read_file(path, kSealedBytesMax);
}

Result<Sealed> open_entry(const std::string& folder, const std::string& name) {
  const auto text = read_sealed(folder, name);
  return text.ok() ? open_seal(*text) : Result<Sealed>(text.error());
}

Result<Sealed> check_sealed(std::string_view text, const std::vector<PublicKey>& keys) {
  auto sealed = open_seal(text);
  if (!sealed.ok()) return sealed;
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const PublicKey& known) {
    return known.id() == sealed->key_id;
  });
  if (key == keys.end()) {
    return Error{Errc::not_found, fmt::format("is signed with key {}, which is none of those given",
                                              sealed->key_id)};
  }
  if (!is_signed_with(*key, *sealed)) {
    return Error{Errc::refused, "its signature does not fit: the certificate was changed"};
  }
  if (Status fits = check_certificate_schema(sealed->content, sealed->kind); !fits.ok()) {
    return std::move(fits).error();
  }
  return sealed;
}

namespace {

// An entry of a tenancy that names no serial is of the drive that is named at its place next; where
// none is any more, of the last one there.
std::vector<DriveEvent> events_of(std::vector<Told> told) {
  for (const bool by_void : {false, true}) {
    name_drives(told.rbegin(), told.rend(), by_void);
    name_drives(told.begin(), told.end(), by_void);
  }
  std::vector<DriveEvent> events;
  events.reserve(told.size());
  for (Told& each : told) {
    if (!each.event) continue;
    each.event->drive = each.serial.empty() ? std::move(each.place) : std::move(each.serial);
    events.push_back(*std::move(each.event));
  }
  return events;
}

}  // namespace

Result<DriveEvents> drive_events(const std::string& folder, const DoubtedEntries& doubted) {
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  std::vector<Told> proven;
  std::vector<Told> all;
  for (const ChainFile& file : listing->files) {
    const auto opened = open_entry(folder, file.name);
    if (!opened.ok()) continue;
    auto one = told_by(*opened);
    if (!one) continue;
    one->is_void = doubted.revoked.contains(file.name) || doubted.disputed.contains(file.name);
    if (one->is_void && opened->kind == SealedKind::certificate) one->event.reset();
    if (one->event) {
      one->event->file = file.name;
      one->event->is_void = one->is_void;
    }
    if (!doubted.unproven.contains(file.name)) proven.push_back(*one);
    all.push_back(*std::move(one));
  }
  DriveEvents events;
  if (all.size() > proven.size()) events.with_unproven = events_of(std::move(all));
  events.proven = events_of(std::move(proven));
  return events;
}

Result<ChainReport> check_chain(const std::string& folder, const std::vector<PublicKey>& keys,
                                std::size_t newest_max) {
  const auto head = read_head(folder);
  const auto listing = list_chain(folder);
  if (!listing.ok()) return listing.error();
  const auto& files = listing->files;
  std::size_t skipped = files.size() - std::min(files.size(), newest_max);
  if (head.ok() && *head) {
    const auto named = std::find_if(files.begin(), files.end(), [&](const ChainFile& file) {
      return file.name == (*head)->name;
    });
    skipped = std::min(skipped, static_cast<std::size_t>(named - files.begin()));
  }
  const auto walked = [&](const Revocations& revoked) {
    Walk walk(folder, head, Succession(keys, revoked), skipped == 0);
    for (std::size_t i = skipped; i < files.size(); ++i) walk.visit(files[i]);
    walk.head();
    for (const std::string& name : listing->foreign) {
      walk.complain(name, "is not a certificate of this chain", false);
    }
    return std::move(walk).report(keys);
  };
  ChainReport report = walked({});
  return report.revoked.empty() ? std::move(report) : walked(report.revoked);
}

}  // namespace reclaim
