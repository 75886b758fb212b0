#include "state/certificate/file_ledger.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "state/base/durable_file.h"
#include "state/base/reading.h"
#include "state/base/uuid.h"
#include "state/certificate/chain.h"
#include "state/ledger/ledger_file.h"

namespace reclaim {
namespace {

using durable_file::File;
using ledger_file::Entries;

constexpr std::size_t kReplayBytesMax = std::size_t{256} * 1024 * 1024;
constexpr std::size_t kTextBytesMax = 4096;
constexpr std::size_t kPageBytes = 4096;

// The end of a piece of work: of a certificate with the sealed text, of the ledger with none.
using Done = Callback<std::string>;

// A piece of work for the thread.
struct Work {
  std::string line;                 // to append; empty: a certificate
  std::optional<Entries> rewrite;   // write all of these instead, the line's among them
  std::uint64_t failures_seen = 0;  // before `rewrite` was taken
  std::string certificate_id;
  std::string certificate_text;
  SealedKind kind = SealedKind::certificate;
  Done done;
};

struct Finished {
  Done done;
  Result<std::string> result = std::string();
  bool of_ledger = false;
  bool rewrote = false;
  std::uint64_t failures_seen = 0;
  std::size_t ledger_bytes = 0;
};

Result<File> lock_folder(const std::string& state_path) {
  const std::string path = state_path + "/ledger.lock";
  Result<File> file = File::open(path, O_RDWR | O_CREAT);
  if (!file.ok()) return file;
  if (::flock(file->fd(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) {
    return Error{Errc::busy, fmt::format("{} is locked: another worker uses {}", path, state_path)};
  }
  return Error{Errc::failed, fmt::format("cannot lock {}: {}", path, std::strerror(errno)), errno};
}

Result<SigningKey> open_key(const FileLedgerOptions& options) {
  if (!options.signing_key.empty()) return SigningKey::load(options.signing_key);
  return SigningKey::load_or_create(default_signing_key(options.state_path));
}

}  // namespace

class FileLedger::Core final {
 public:
  Core(uv_loop_t* loop, FileLedgerOptions options, SigningKey key, File lock, File file,
       ledger_file::Replay replayed)
      : options_(std::move(options)),
        certificates_(certificates_folder(options_.state_path), std::move(key)),
        folder_lock_(std::move(lock)),
        file_(std::move(file)),
        file_bytes_(replayed.bytes_good),
        entries_(std::move(replayed.entries)),
        ledger_bytes_(replayed.bytes_good),
        mailbox_(loop, [this](Finished finished) { on_finished(std::move(finished)); }),
        thread_([this] { work(); }) {}

  ~Core() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    std::deque<Finished> left;
    left.swap(finished_);
    for (Finished& finished : left) finished.done(std::move(finished.result));
  }

  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const Entries& entries() const { return entries_; }
  void put(const PciAddress& address, const LedgerEntry& entry, Done done);
  void keep_certificate(const std::string& id, const std::string& json_text, SealedKind kind,
                        Done done);

 private:
  // The loop's thread.
  void ask(Work work);
  void refuse(Error error, Done done);
  void on_finished(Finished wake);

  // The ledger's own thread.
  void work();
  std::vector<Work> next();
  Result<std::string> carry_out(const std::vector<Work>& works);
  Status append(const std::string& lines);
  Status rewrite(const Entries& entries);

  const FileLedgerOptions options_;
  const CertificateChain certificates_;  // used by the thread alone
  File folder_lock_;
  // The thread's.
  File file_;
  std::size_t file_bytes_;
  bool damaged_ = false;  // a write failed: nothing may be appended behind what it left

  // The loop's.
  Entries entries_;
  std::size_t ledger_bytes_;
  bool rewrite_next_ = false;  // the file lacks something that entries() shows
  std::uint64_t failures_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> works_;
  std::deque<Finished> finished_;
  bool stopping_ = false;

  uv::Mailbox<Finished> mailbox_;
  std::thread thread_;
};

void FileLedger::Core::put(const PciAddress& address, const LedgerEntry& entry, Done done) {
  for (const std::string* text : {&entry.serial, &entry.provider, &entry.enrolled_serial}) {
    if (text->size() > kTextBytesMax) {
      refuse(Error{Errc::invalid, fmt::format("the ledger's line for {}: a text of more than {} "
                                              "bytes",
                                              to_string(address), kTextBytesMax)},
             std::move(done));
      return;
    }
  }
  if (!entries_.contains(address) && entries_.size() >= options_.entries_max) {
    refuse(Error{Errc::limit, fmt::format("the ledger remembers {} devices already, so not {}",
                                          entries_.size(), to_string(address))},
           std::move(done));
    return;
  }
  entries_[address] = entry;
  Work work;
  work.line = ledger_file::encode_line(address, entry);
  work.done = std::move(done);
  if (rewrite_next_ || ledger_bytes_ > options_.ledger_bytes_max) {
    work.rewrite = entries_;
    work.failures_seen = failures_;
  }
  ask(std::move(work));
}

void FileLedger::Core::keep_certificate(const std::string& id, const std::string& json_text,
                                        SealedKind kind, Done done) {
  if (!looks_like_uuid(id)) {
    refuse(Error{Errc::invalid,
                 fmt::format("'{}' is not a certificate's id: a UUID is", printable_excerpt(id))},
           std::move(done));
    return;
  }
  if (json_text.size() > options_.certificate_bytes_max) {
    refuse(Error{Errc::limit, fmt::format("certificate {} has {} bytes, {} are allowed", id,
                                          json_text.size(), options_.certificate_bytes_max)},
           std::move(done));
    return;
  }
  Work work;
  work.certificate_id = id;
  work.certificate_text = json_text;
  work.kind = kind;
  work.done = std::move(done);
  ask(std::move(work));
}

void FileLedger::Core::ask(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (works_.size() < options_.writes_waiting_max) {
      works_.push_back(std::move(work));
      wake_.notify_one();
      return;
    }
  }
  rewrite_next_ = true;
  ++failures_;
  refuse(Error{Errc::limit, fmt::format("{} writes wait for the disk under {} already",
                                        options_.writes_waiting_max, options_.state_path)},
         std::move(work.done));
}

void FileLedger::Core::refuse(Error error, Done done) {
  const std::lock_guard lock(mutex_);
  finished_.push_back(Finished{std::move(done), std::move(error), false, false, 0, 0});
  mailbox_.post(Finished{});
}

// The message only wakes; results are taken from finished_, so that the destructor finds those that
// no loop has turned for.
void FileLedger::Core::on_finished(Finished /*wake*/) {
  std::optional<Finished> finished;
  {
    const std::lock_guard lock(mutex_);
    if (finished_.empty()) return;
    finished = std::move(finished_.front());
    finished_.pop_front();
  }
  if (finished->of_ledger) {
    ledger_bytes_ = finished->ledger_bytes;
    if (!finished->result.ok()) {
      rewrite_next_ = true;
      ++failures_;
    } else if (finished->rewrote && finished->failures_seen == failures_) {
      rewrite_next_ = false;
    }
  }
  const Done done = std::move(finished->done);
  done(std::move(finished->result));
}

void FileLedger::Core::work() {
  while (true) {
    std::vector<Work> works = next();
    if (works.empty()) return;
    const Result<std::string> result = carry_out(works);
    for (Work& work : works) {
      if (options_.on_sealed && result.ok() && !work.certificate_id.empty()) options_.on_sealed();
      const std::lock_guard lock(mutex_);
      finished_.push_back(Finished{std::move(work.done), result, work.certificate_id.empty(),
                                   work.rewrite.has_value(), work.failures_seen, file_bytes_});
      mailbox_.post(Finished{});
    }
  }
}

// One, or the lines that wait one behind the other, as far as the page goes in which the file ends:
// the disk is waited for once. Lines of two pages may be written in any order, and a hole before a
// whole line reads as damage. Empty: none will come any more.
std::vector<Work> FileLedger::Core::next() {
  const auto is_line = [](const Work& work) {
    return work.certificate_id.empty() && !work.rewrite;
  };
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !works_.empty(); });
  std::vector<Work> works;
  std::size_t left = kPageBytes - file_bytes_ % kPageBytes;
  while (!works_.empty()) {
    const Work& work = works_.front();
    const bool joins = is_line(work) && work.line.size() <= left;
    if (!works.empty() && !(joins && is_line(works.back()))) break;
    left -= std::min(left, work.line.size());
    works.push_back(std::move(works_.front()));
    works_.pop_front();
  }
  return works;
}

Result<std::string> FileLedger::Core::carry_out(const std::vector<Work>& works) {
  const Work& first = works.front();
  if (!first.certificate_id.empty()) {
    return certificates_.keep(first.certificate_id, first.certificate_text, first.kind);
  }
  std::string lines;
  for (const Work& work : works) lines += work.line;
  Status written = first.rewrite ? rewrite(*first.rewrite) : append(lines);
  if (!written.ok()) return std::move(written).error();
  return std::string();
}

Status FileLedger::Core::append(const std::string& lines) {
  if (damaged_) {
    return Error{Errc::failed, fmt::format("{}/ledger: an earlier write failed; this one was not "
                                           "tried, the next writes the whole ledger again",
                                           options_.state_path)};
  }
  Status written = file_.write_all(lines);
  if (written.ok()) written = file_.sync();
  if (written.ok()) {
    file_bytes_ += lines.size();
    return written;
  }
  // Half a line must not become the beginning of the next one. Should cutting it off fail as well,
  // it stays the last and is dropped as torn; whole lines before it are read at the next start.
  damaged_ = true;
  (void)file_.truncate(file_bytes_).ok();
  return written;
}

Status FileLedger::Core::rewrite(const Entries& entries) {
  const std::string text = ledger_file::encode_all(entries);
  // From here on it is not known which of the two the folder names, until all has gone well.
  damaged_ = true;
  if (Status replaced = durable_file::replace_file(options_.state_path, "ledger", text);
      !replaced.ok()) {
    return replaced;
  }
  Result<File> opened = File::open(options_.state_path + "/ledger", O_WRONLY | O_APPEND);
  if (!opened.ok()) return opened.error();
  file_ = *std::move(opened);
  file_bytes_ = text.size();
  damaged_ = false;
  return Ok{};
}

FileLedger::FileLedger(std::unique_ptr<Core> core) : core_(std::move(core)) {}
FileLedger::~FileLedger() = default;

Result<std::unique_ptr<FileLedger>> FileLedger::open(uv_loop_t* loop, FileLedgerOptions options,
                                                     Logger& logger) {
  const std::string path = options.state_path + "/ledger";
  Result<File> lock = lock_folder(options.state_path);
  if (!lock.ok()) return std::move(lock).error();
  const auto put_aside = own_state_folder(options.state_path, options.owner);
  if (!put_aside.ok()) return put_aside.error();
  if (*put_aside) logger.warning(log_name::kLedger, **put_aside);
  Result<SigningKey> key = open_key(options);
  if (!key.ok()) return key.error().wrap("the key that certificates are signed with");
  const Status may = CertificateChain(certificates_folder(options.state_path), *key).check_key();
  if (!may && may.error().code == Errc::refused) return may.error();
  ledger_file::Replay replayed;
  std::size_t bytes = 0;
  const bool exists = ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
  if (exists) {
    const Result<File> file = File::open(path, O_RDONLY);
    if (!file.ok()) return file.error();
    const Result<std::string> text = file->read_all(kReplayBytesMax);
    if (!text.ok()) return text.error();
    auto read = ledger_file::replay(*text, path, options.entries_max);
    if (!read.ok()) return std::move(read).error();
    replayed = *std::move(read);
    bytes = text->size();
    if (replayed.torn) {
      logger.warning(log_name::kLedger,
                     fmt::format("{}: the last write was cut short by a crash; dropped '{}'", path,
                                 printable_excerpt(text->substr(replayed.bytes_good), 200)));
    }
  }
  if (!exists || replayed.torn || bytes > options.ledger_bytes_max) {
    const std::string all = ledger_file::encode_all(replayed.entries);
    if (Status replaced = durable_file::replace_file(options.state_path, "ledger", all);
        !replaced.ok()) {
      return std::move(replaced).error();
    }
    replayed.bytes_good = all.size();
  }
  Result<File> file = File::open(path, O_WRONLY | O_APPEND);
  if (!file.ok()) return std::move(file).error();
  return std::unique_ptr<FileLedger>(new FileLedger(
      std::make_unique<Core>(loop, std::move(options), *std::move(key), *std::move(lock),
                             *std::move(file), std::move(replayed))));
}

const std::map<PciAddress, LedgerEntry>& FileLedger::entries() const {
  return core_->entries();
}

void FileLedger::put(const PciAddress& address, const LedgerEntry& entry, Callback<Ok> done) {
  core_->put(address, entry, without_value<std::string>(std::move(done)));
}

void FileLedger::keep_certificate(const std::string& id, const std::string& json_text,
                                  Callback<std::string> done) {
  core_->keep_certificate(id, json_text, SealedKind::certificate, std::move(done));
}

void FileLedger::keep_audit(const AuditEntry& entry, Callback<Ok> done) {
  const AuditEntry named = identified(entry);
  core_->keep_certificate(named.id, encode_audit(named), SealedKind::audit,
                          without_value<std::string>(std::move(done)));
}

Status keep_key_entry(const FileLedgerOptions& options, AuditEntry entry) {
  const Result<File> lock = lock_folder(options.state_path);
  if (!lock.ok()) return lock.error();
  if (Status ours = check_state_folder(options.state_path, options.owner); !ours) return ours;
  Result<SigningKey> key = open_key(options);
  if (!key.ok()) return key.error().wrap("the key that certificates are signed with");
  if (entry.key_id == key->public_key().id()) {
    return Error{Errc::refused, fmt::format("key {} is the one in use: put another in its place "
                                            "first ([certificates] signing_key)",
                                            entry.key_id)};
  }
  entry = identified(std::move(entry));
  const CertificateChain chain(certificates_folder(options.state_path), *std::move(key));
  const auto kept = chain.keep(entry.id, encode_audit(entry), SealedKind::audit);
  if (!kept.ok()) return kept.error();
  return Ok{};
}

std::string certificates_folder(const std::string& state_path) {
  return state_path + "/certificates";
}

std::string default_signing_key(const std::string& state_path) {
  return state_path + "/certificate.key";
}

}  // namespace reclaim
